use std::sync::Mutex as StdMutex;

use super::*;
use crate::{AiMessage, FailureKind, Provider, ToolReply, UserMessage};

fn image(data: &str) -> Image {
    Image { media_type: "image/png".to_owned(), data: data.to_owned() }
}

fn user(content: &str, images: Vec<Image>) -> Message {
    Message::User(UserMessage { images, ..content.into() })
}

fn tool(content: &str, images: Vec<Image>) -> Message {
    Message::Tool(ToolReply { content: content.to_owned(), images, ..ToolReply::default() })
}

/// The model of a test, which no other test asks.
fn of(model: &str, images: Option<bool>) -> Images {
    Images::new(&ModelConfig { images, ..ModelConfig::new(Provider::OpenAi, model) })
}

/// What the model reads of each message, `+` for each image that it is sent, and the warnings.
fn sent(images: &Images, messages: &[Message]) -> (Vec<String>, Vec<String>) {
    let warnings = StdMutex::new(Vec::new());
    let fitted = images.fitted(messages, &|event| match event {
        ModelEvent::Warning(text) => warnings.lock().unwrap().push(text),
        other => panic!("{other:?}"),
    });
    let read = |message: &Message| {
        let content = match message {
            Message::User(said) => &said.content,
            Message::Tool(reply) => &reply.content,
            Message::System(text) => text,
            Message::Ai(said) => &said.content,
        };
        format!("{content}{}", "+".repeat(super::of(message).len()))
    };
    (fitted.iter().map(read).collect(), warnings.into_inner().unwrap())
}

// RS-6
#[test]
fn a_line_stands_where_an_image_is_not_sent() {
    let named = "look:\n[image: image/png, 11 bytes, artifact 01ABC]";
    let data = "aGVsbG8gd29ybGQ=";
    let messages = [
        user("This?", vec![image(data)]),
        user("", vec![image("AAEC"), image("AAE=")]),
        tool(named, vec![image(data)]),
        tool("a client's", vec![image(data)]),
    ];
    let lines = [
        "This?\n[image: image/png, 11 bytes, which you cannot see]",
        "[image: image/png, 3 bytes, which you cannot see]\n[image: image/png, 2 bytes, which you cannot see]",
        named,
        "a client's\n[image: image/png, 11 bytes]",
    ];
    assert_eq!(sent(&of("blind", Some(false)), &messages).0, lines);
    let told = of("told", None);
    assert!(told.is_in_question(&messages));
    told.set_takes_images(Some(false));
    assert!(!told.is_in_question(&messages));
    assert_eq!(sent(&told, &messages).0, lines);
    let unchanged = (vec!["This?+".to_owned(), "++".to_owned()], Vec::new());
    for sees in [of("sees", Some(true)), of("may see", None)] {
        assert_eq!(sent(&sees, &messages[..2]), unchanged);
    }
    assert!(!of("may see", None).is_in_question(&[user("Hi", Vec::new())]));
}

// RS-6
#[test]
fn what_was_refused_is_not_sent_again_in_this_process() {
    let (first, second) = (user("1", vec![image("AAAA")]), user("2", vec![image("BBBB")]));
    let refused = |model: &str, status: Option<u16>, said: &str| {
        let mut error = ModelError::new(FailureKind::Rejected, said);
        error.status = status;
        assert!(may_be_refused(&error));
        of(model, None).refuse(std::slice::from_ref(&first), &error, &|_| {});
        // Another client of the same model knows of it.
        let both = [first.clone(), second.clone()];
        sent(&of(model, None), &both).0.iter().map(|text| text.ends_with('+')).collect::<Vec<_>>()
    };
    assert_eq!(refused("a", Some(500), "image input is not supported - hint: mmproj"), [false; 2]);
    assert_eq!(refused("b", Some(400), "no"), [false; 2]);
    assert_eq!(refused("c", Some(400), "image exceeds 5 MB maximum"), [false, true]);
    assert_eq!(refused("d", Some(413), "Request too large"), [false, true]);
    assert_eq!(sent(&of("a", Some(true)), std::slice::from_ref(&first)).0, ["1+"], "set again");
    for kind in [FailureKind::Auth, FailureKind::RateLimited, FailureKind::ContextFull] {
        assert!(!may_be_refused(&ModelError::new(kind, "no")), "{kind:?}");
    }
}

// RS-6
#[test]
fn each_image_is_warned_of_once() {
    let blind = of("warns", None);
    blind.set_takes_images(Some(false));
    let shown = user("This?", vec![image("AAAA")]);
    let one = "the model takes no images; it reads a line that names the image";
    assert_eq!(sent(&blind, std::slice::from_ref(&shown)).1, [one]);
    let answered = [shown.clone(), Message::Ai(AiMessage::text("A line."))];
    assert!(sent(&blind, &answered).1.is_empty());
    let results = [shown.clone(), tool("", vec![image("AAAA")])];
    let two = "the model takes no images; it reads lines that name the 2 images";
    assert_eq!(sent(&blind, &results).1, [two]);
    assert_eq!(sent(&of("warns", Some(false)), &results).1, [one], "a setting says it of results");
}
