//! Puts lines in the place of images.

use crate::{Image, Message, UserMessage};

/// Returns the messages with a line in place of each image for which `is_replaced` holds.
pub(super) fn images(messages: &[Message], is_replaced: impl Fn(&Image) -> bool) -> Vec<Message> {
    let without = |message: &Message| match message {
        Message::User(said) => {
            let mut said = said.clone();
            for image in take(&mut said.images, &is_replaced) {
                // Images of users are not stored, so there is no artifact to name.
                let line = format!("{}, which you cannot see]", head(&image));
                said = UserMessage { content: appended(&said.content, &line), ..said };
            }
            Message::User(said)
        }
        Message::Tool(reply) => {
            let mut reply = reply.clone();
            for image in take(&mut reply.images, &is_replaced) {
                // The results of our own tools have the line already, with the artifact.
                let head = head(&image);
                if !reply.content.contains(&head) {
                    reply.content = appended(&reply.content, &format!("{head}]"));
                }
            }
            Message::Tool(reply)
        }
        other => other.clone(),
    };
    messages.iter().map(without).collect()
}

/// Takes the images out for which `is_taken` holds.
fn take(images: &mut Vec<Image>, is_taken: impl Fn(&Image) -> bool) -> Vec<Image> {
    let (taken, left) = std::mem::take(images).into_iter().partition(is_taken);
    *images = left;
    taken
}

/// How the line of an image begins, as in the texts of results: kind, media type and size.
fn head(Image { media_type, data }: &Image) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let size = (data.len() * 3 / 4).saturating_sub(padding);
    format!("[image: {media_type}, {size} bytes")
}

fn appended(text: &str, line: &str) -> String {
    if text.is_empty() { line.to_owned() } else { format!("{text}\n{line}") }
}
