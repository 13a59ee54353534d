//! The results of calls, as models take them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use switchboard_toolcall::{BoundedOutput, Part, ToolMessage, ToolOutput, ToolResult};

use crate::Message;

/// The result of one call, with images and audio for models that accept them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolReply {
    /// The text.
    pub content: String,
    /// The call that this answers.
    pub tool_call_id: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The images, for models that accept them.
    pub images: Vec<Image>,
    /// The audio, for models that accept it.
    pub audio: Vec<Audio>,
}

/// An image in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// A recording in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audio {
    /// Such as `audio/wav`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// What providers take as an image.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The formats of audio, by the names of the one provider that accepts it.
const AUDIO: &[(&str, &str)] = &[
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/wave", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
];

impl Audio {
    /// The format as OpenAI names it.
    pub(crate) fn format(&self) -> Option<&'static str> {
        AUDIO.iter().find(|(media_type, _)| *media_type == self.media_type).map(|(_, name)| *name)
    }
}

impl ToolReply {
    /// Returns the text for a wire that has no flag for failures (Ollama, OpenAI): that of a failure begins with `Error: `,
    /// so that the model knows (SPEC RS-4).
    pub(crate) fn marked_content(&self) -> Cow<'_, str> {
        match self.is_error && !self.content.starts_with("Error:") {
            true => Cow::Owned(format!("Error: {}", self.content)),
            false => Cow::Borrowed(&self.content),
        }
    }
}

impl From<&ToolResult> for ToolReply {
    /// The reply to a call, with the images and the sound that its tool answered.
    fn from(result: &ToolResult) -> Self {
        let mut reply = Self::from(result.message());
        let Ok(BoundedOutput { output: ToolOutput::Content(content), .. }) = &result.outcome else {
            return reply;
        };
        for found in content.parts.iter().filter_map(Part::as_binary) {
            let (media_type, data) = (found.media_type.to_owned(), found.data.to_owned());
            if IMAGES.contains(&found.media_type) {
                reply.images.push(Image { media_type, data });
            } else if AUDIO.iter().any(|(known, _)| *known == found.media_type) {
                reply.audio.push(Audio { media_type, data });
            }
        }
        reply
    }
}

impl From<ToolMessage> for ToolReply {
    fn from(message: ToolMessage) -> Self {
        let ToolMessage { content, tool_call_id, is_error } = message;
        Self { content, tool_call_id, is_error, ..Self::default() }
    }
}

impl From<ToolMessage> for Message {
    fn from(message: ToolMessage) -> Self {
        Self::Tool(message.into())
    }
}

#[cfg(test)]
mod tests {
    use switchboard_toolcall::{CallId, Content};

    use super::*;

    // RS-6: images and sound go along as what they are, never in the text.
    #[test]
    fn results_bring_their_images_and_their_sound() {
        let parts = vec![
            Part::binary("image", "image/png", "AAAA"),
            Part::binary("image", "image/svg+xml", "BBBB"),
            Part::binary("audio", "audio/wav", "CCCC"),
            Part::binary("audio", "audio/ogg", "DDDD"),
        ];
        let content = Content { parts, ..Content::default() };
        let shown = ToolOutput::Value("[image]".into());
        let answer = BoundedOutput {
            output: ToolOutput::Content(content),
            for_programs: Some(shown),
            text: None,
        };
        let result = ToolResult {
            call_id: CallId::generate(),
            tool_call_id: "call_1".to_owned(),
            tool_name: "camera".into(),
            server: None,
            elapsed: std::time::Duration::ZERO,
            waited: std::time::Duration::ZERO,
            outcome: Ok(answer),
            truncated: false,
            artifacts: Vec::new(),
            reused: None,
        };
        let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        let audio = Audio { media_type: "audio/wav".to_owned(), data: "CCCC".to_owned() };
        let expected = ToolReply {
            content: "[image]".to_owned(),
            tool_call_id: "call_1".to_owned(),
            is_error: false,
            images: vec![image],
            audio: vec![audio],
        };
        assert_eq!(ToolReply::from(&result), expected);
    }

    // RS-4
    #[test]
    fn failures_are_marked_once() {
        let marked = |content: &str, is_error| {
            let reply = ToolReply { content: content.to_owned(), is_error, ..Default::default() };
            reply.marked_content().into_owned()
        };
        assert_eq!(marked("the speaker is off", true), "Error: the speaker is off");
        assert_eq!(marked("Error: the speaker is off", true), "Error: the speaker is off");
        assert_eq!(marked("Error:\nno", true), "Error:\nno");
        assert_eq!(marked("Errors were found", true), "Error: Errors were found");
        assert_eq!(marked("the speaker is on", false), "the speaker is on");
    }
}
