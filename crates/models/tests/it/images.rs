//! Images and the models that refuse them (RS-6), in the words of real providers.

use serde_json::{Value, json};
use switchboard_models::{
    FailureKind, Image, Message, ModelError, ModelEvent, Provider, ToolReply, Turn, UserMessage,
};
use switchboard_testkit::{CapturedRequest, Reply};

use crate::common::{Setup, call, said, told};

const DATA: &str = "aGVsbG8gd29ybGQ=";

/// How real providers refuse an image: the provider, the status and the body.
fn refusals() -> Vec<(Provider, u16, Value)> {
    let multimodal = "Multimodal data provided, but model does not support multimodal requests.";
    let nested =
        json!({"error": {"code": 400, "message": multimodal, "type": "invalid_request_error"}});
    let mmproj = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
    let openai =
        |message: &str| json!({"error": {"message": message, "type": "invalid_request_error"}});
    vec![
        (Provider::Ollama, 400, json!({"error": nested.to_string()})),
        (Provider::Ollama, 500, json!({"error": nested.to_string()})),
        (
            Provider::Ollama,
            500,
            json!({"error": "this model is missing data required for image input"}),
        ),
        (
            Provider::OpenAi,
            500,
            json!({"error": {"code": 500, "message": mmproj, "type": "server_error"}}),
        ),
        (
            Provider::OpenAi,
            400,
            openai("Invalid content type. image_url is only supported by certain models."),
        ),
        (Provider::OpenAi, 422, json!({"detail": [{"msg": "Input should be a valid string"}]})),
        (Provider::OpenAi, 404, openai("No endpoints found that support image input")),
        (
            Provider::OpenAiResponses,
            500,
            json!({"error": {"code": 500, "message": mmproj, "type": "server_error"}}),
        ),
        (
            Provider::OpenAiResponses,
            400,
            openai("Invalid value: 'input_image'. Supported values are: 'input_text'."),
        ),
        (
            Provider::Anthropic,
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "messages.2.content.0.tool_result.content.1: image blocks are not allowed for this model"}}),
        ),
    ]
}

fn answer(provider: Provider, text: &str) -> Reply {
    match provider {
        Provider::Ollama => Reply::json(
            200,
            &json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"}),
        ),
        Provider::OpenAi => Reply::json(
            200,
            &json!({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}),
        ),
        Provider::OpenAiResponses => Reply::json(
            200,
            &json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}),
        ),
        Provider::Anthropic => Reply::json(
            200,
            &json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {}}),
        ),
        other => panic!("no answer for {other}"),
    }
}

/// What an Ollama says of a model.
fn show_reply(capabilities: Value) -> Reply {
    Reply::json(200, &json!({"details": {"family": "llama"}, "capabilities": capabilities}))
}

/// A question that shows an image, a call, and a result that holds one.
fn pictured() -> Vec<Message> {
    let image = || Image { media_type: "image/png".to_owned(), data: DATA.to_owned() };
    vec![
        Message::User(UserMessage { images: vec![image()], .."This?".into() }),
        said("", vec![call("c1", "get_weather", r#"{"city":"Oslo"}"#)]),
        Message::Tool(ToolReply {
            content: "look:\n[image: image/png, 11 bytes, artifact 01ABC]".to_owned(),
            tool_call_id: "c1".to_owned(),
            images: vec![image()],
            ..ToolReply::default()
        }),
    ]
}

fn asked(captured: &[CapturedRequest]) -> Vec<bool> {
    captured.iter().map(|asked| asked.body.to_string().contains(DATA)).collect()
}

fn warnings(events: &[ModelEvent]) -> Vec<&String> {
    fn warning(event: &ModelEvent) -> Option<&String> {
        match event {
            ModelEvent::Warning(text) => Some(text),
            _ => None,
        }
    }
    events.iter().filter_map(warning).collect()
}

async fn ask(setup: &Setup, stream: bool) -> (Result<Turn, ModelError>, Vec<ModelEvent>) {
    setup.ask_after(&pictured(), stream).await
}

#[tokio::test]
async fn a_refused_image_is_left_out_now_and_from_now_on() {
    // RS-6
    for (provider, status, body) in refusals() {
        let said = |text| answer(provider, text);
        let refusal = Reply::json(status, &body);
        let replies = [refusal, said("A line."), said("Still one.")];
        let images = (provider == Provider::Ollama).then_some(true);
        let setup = Setup::with(provider, replies, |config| config.images = images).await;
        let (turn, events) = ask(&setup, false).await;
        assert_eq!(told(&turn.unwrap()), "Answer | A line. | ", "{body}");
        assert_eq!(warnings(&events).len(), 1, "{events:?}");
        assert!(warnings(&events)[0].contains("refused an image"), "{events:?}");
        let (turn, events) = ask(&setup, false).await;
        assert_eq!(told(&turn.unwrap()), "Answer | Still one. | ");
        let captured = setup.server.captured();
        assert_eq!(asked(&captured), [true, false, false], "{body}");
        let read = captured[1].body.to_string();
        assert!(read.contains("[image: image/png, 11 bytes, which you cannot see]"), "{read}");
        assert!(read.contains("[image: image/png, 11 bytes, artifact 01ABC]"), "{read}");
        assert_eq!(captured[1].body, captured[2].body);
        // The image of the result came after the model's last word.
        assert_eq!(warnings(&events).len(), 1, "{events:?}");
    }
}

#[tokio::test]
async fn a_refusal_in_a_stream_is_one_too() {
    // RS-6: Ollama answers 200, and then a line with an error.
    let error = r#"{"error":"{\"error\":{\"message\":\"image input is not supported\"}}"}"#;
    let line = r#"{"message":{"content":"A line."},"done":true}"#;
    let replies = [Reply::lines(&[error]), Reply::lines(&[line])];
    let setup = Setup::with(Provider::Ollama, replies, |config| config.images = Some(true)).await;
    let (turn, _) = ask(&setup, true).await;
    assert_eq!(told(&turn.unwrap()), "Answer | A line. | ");
    assert_eq!(asked(&setup.server.captured()), [true, false]);
}

#[tokio::test]
async fn what_is_no_refusal_of_images_leaves_them() {
    // RS-6: keys, rates, lengths and passing failures.
    let error = |status| Reply::json(status, &json!({"error": {"message": "no"}}));
    let full = Reply::json(400, &json!({"error": {"message": "maximum context length is 8"}}));
    for (reply, kind) in [(error(401), FailureKind::Auth), (full, FailureKind::ContextFull)] {
        let setup = Setup::new(Provider::OpenAi, [reply]).await;
        assert_eq!(ask(&setup, false).await.0.unwrap_err().kind, kind);
        assert_eq!(asked(&setup.server.captured()), [true]);
    }
    let said = || answer(Provider::OpenAi, "Fine.");
    for status in [429, 503, 500] {
        let setup = Setup::new(Provider::OpenAi, [error(status), said(), said()]).await;
        for _ in 0..2 {
            assert!(ask(&setup, false).await.0.is_ok(), "{status}");
        }
        assert_eq!(asked(&setup.server.captured()), [true; 3], "{status}");
    }
    // A server that fails each time for the image, and does not say so.
    let replies = [error(500), error(500), said()];
    let setup = Setup::with(Provider::OpenAi, replies, |config| config.max_retries = Some(1)).await;
    assert!(ask(&setup, false).await.0.is_ok());
    assert_eq!(asked(&setup.server.captured()), [true, true, false]);
    // It is not the image: the failure is told, and the image is sent the next time.
    let setup = Setup::new(Provider::OpenAi, [error(400), error(400), said()]).await;
    assert_eq!(ask(&setup, false).await.0.unwrap_err().kind, FailureKind::Rejected);
    assert!(ask(&setup, false).await.0.is_ok());
    assert_eq!(asked(&setup.server.captured()), [true, false, true]);
}

#[tokio::test]
async fn ollama_is_asked_which_models_see() {
    // RS-6
    let paths = |setup: &Setup| -> Vec<_> {
        setup.server.captured().iter().map(|asked| asked.path.clone()).collect()
    };
    let said = || answer(Provider::Ollama, "Fine.");
    for (show, sees) in [
        (show_reply(json!(["completion", "tools"])), false),
        (show_reply(json!(["completion", "vision"])), true),
        // Old builds do not say.
        (Reply::json(200, &json!({"details": {}})), true),
        (Reply::json(404, &json!({"error": "model 'm' not found"})), true),
    ] {
        let is_told = !sees;
        let setup = Setup::new(Provider::Ollama, [show, said()]).await;
        let (turn, events) = ask(&setup, false).await;
        assert!(turn.is_ok(), "{turn:?}");
        assert_eq!(paths(&setup), ["/api/show", "/api/chat"]);
        let captured = setup.server.captured();
        assert_eq!(captured[0].body, json!({"model": "test-model"}));
        assert_eq!(asked(&captured), [false, sees]);
        let expected = "the model takes no images; it reads a line that names the image";
        assert_eq!(warnings(&events).contains(&&expected.to_owned()), is_told, "{events:?}");
    }
    // Asked once; not at all for text, or where the config says it.
    let replies = [show_reply(json!(["tools"])), said(), said()];
    let setup = Setup::new(Provider::Ollama, replies).await;
    for _ in 0..2 {
        assert!(ask(&setup, false).await.0.is_ok());
    }
    assert_eq!(paths(&setup), ["/api/show", "/api/chat", "/api/chat"]);
    let setup = Setup::new(Provider::Ollama, [said()]).await;
    assert!(setup.ask(false).await.is_ok());
    assert_eq!(paths(&setup), ["/api/chat"]);
    for sees in [true, false] {
        let setup =
            Setup::with(Provider::Ollama, [said()], |config| config.images = Some(sees)).await;
        assert!(ask(&setup, false).await.0.is_ok());
        assert_eq!(asked(&setup.server.captured()), [sees]);
    }
}
