//! What the network and a provider's front door do.

use std::time::Duration;

use serde_json::json;
use switchboard_models::{
    FailureKind, Message, ModelConfig, ModelEvent, Provider, Secret, connect,
};
use switchboard_testkit::{ProviderServer, Reply};
use switchboard_toolcall::HumanDuration;

use crate::common::{Setup, told, unused_address};

fn answer() -> Reply {
    Reply::json(200, &json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}))
}

// ML-7
#[tokio::test]
async fn what_passes_is_asked_again() {
    for status in [429, 500, 502, 503, 504, 529] {
        let busy = Reply::json(status, &json!({"error": {"message": "busy", "type": "later"}}));
        let busy = busy.with_header("retry-after-ms", "1");
        let setup = Setup::new(Provider::OpenAi, [busy.clone(), busy, answer()]).await;
        let (turn, events) = setup.ask_after(&[Message::User("x".into())], true).await;
        assert_eq!(told(&turn.unwrap()), "Answer | Hi | ");
        let waits = events.iter().filter(|event| {
            let expected = format!("openai answered {status}: busy (later)");
            matches!(event, ModelEvent::Retry { after, reason } if after.as_millis() == 1 && *reason == expected)
        });
        assert_eq!(waits.count(), 2, "{events:?}");
    }
}

// ML-7
#[tokio::test]
async fn what_does_not_pass_is_said_at_once() {
    for (status, body, kind) in [
        (
            400,
            json!({"error": {"message": "bad", "type": "invalid_request_error"}}),
            FailureKind::Rejected,
        ),
        (401, json!({"error": {"message": "no key sk-secret-1"}}), FailureKind::Auth),
        (404, json!({"detail": "no such model"}), FailureKind::Rejected),
        (
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "32 MB"}}),
            FailureKind::ContextFull,
        ),
        (
            400,
            json!({"error": {"message": "prompt is too long: 9 tokens > 8"}}),
            FailureKind::ContextFull,
        ),
        (
            429,
            json!({"error": {"message": "pay", "type": "insufficient_quota"}}),
            FailureKind::Rejected,
        ),
    ] {
        let setup = Setup::with(Provider::OpenAi, [Reply::json(status, &body)], |config| {
            config.api_key = Some(Secret::new("sk-secret-1"));
        });
        let setup = setup.await;
        let error = setup.ask(true).await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(status)));
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        let captured = setup.server.captured();
        assert_eq!(captured.len(), 1);
        assert_eq!(captured[0].header("authorization"), Some("Bearer sk-secret-1"));
        assert_eq!(captured[0].path, "/v1/chat/completions");
    }
}

// ML-7: a connection that breaks before anything was shown is opened again; nobody there is told.
#[tokio::test]
async fn broken_connections() {
    let nothing = Reply::events(&[""; 0]).cut();
    let setup = Setup::new(Provider::OpenAi, [nothing, answer()]).await;
    assert_eq!(told(&setup.ask(true).await.unwrap()), "Answer | Hi | ");
    let mut config = ModelConfig::new(Provider::Ollama, "m");
    config.base_url = Some(unused_address());
    config.max_retries = Some(0);
    let model = connect(&config).unwrap();
    let messages = [Message::User("x".into())];
    let request = switchboard_models::Request::new(&messages);
    let error = model.ask(&request, &|_| {}).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connect);
    assert!(error.message.contains("is Ollama running?"), "{error}");
}

// ML-7: silence has an end, before the first byte and after it; a slow answer has time.
#[tokio::test]
async fn silence_has_an_end() {
    let idle = |config: &mut ModelConfig| {
        config.idle_timeout = Some(HumanDuration(Duration::from_millis(150)));
    };
    let start = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let silent = Reply::events(&[start]).then_silence();
    let error = Setup::with(Provider::OpenAi, [silent], idle).await.ask(true).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Timeout);
    assert!(error.message.contains("0.15 s"), "{error}");
    let slow = Reply::events(&[start]).in_pieces(20).with_pause(Duration::from_millis(50));
    let turn = Setup::with(Provider::OpenAi, [slow], idle).await.ask(true).await.unwrap();
    assert_eq!(told(&turn), "Answer | Hi | ");
}

// ML-10
#[tokio::test]
async fn addresses_as_people_write_them() {
    for (provider, suffix, path) in [
        (Provider::OpenAi, "/v1/", "/v1/chat/completions"),
        (Provider::OpenAi, "/openai/v2", "/openai/v2/chat/completions"),
        (Provider::OpenAiResponses, "/v1", "/v1/responses"),
        (Provider::Anthropic, "", "/v1/messages"),
        (Provider::Anthropic, "/v1", "/v1/messages"),
        (Provider::Ollama, "/", "/api/chat"),
        (Provider::Ollama, "/api", "/api/chat"),
    ] {
        let server = ProviderServer::start([]).await;
        let mut config = ModelConfig::new(provider, "m");
        config.base_url = Some(format!("{}{suffix}", server.url().trim_start_matches("http://")));
        let messages = [Message::User("x".into())];
        let request = switchboard_models::Request::new(&messages);
        connect(&config).unwrap().ask(&request, &|_| {}).await.unwrap_err();
        assert_eq!(server.captured()[0].path, path);
    }
    for wrong in ["ftp://x", "http://", "::"] {
        let mut config = ModelConfig::new(Provider::Ollama, "m");
        config.base_url = Some(wrong.to_owned());
        assert_eq!(
            connect(&config).err().map(|error| error.kind),
            Some(FailureKind::Config),
            "{wrong}"
        );
    }
}

// ML-4: whoever walks away closes the connection.
#[tokio::test]
async fn dropping_the_question_ends_it() {
    let start = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let setup = Setup::new(Provider::OpenAi, [Reply::events(&[start]).then_silence()]).await;
    let asked = tokio::time::timeout(Duration::from_millis(200), setup.ask(true)).await;
    assert!(asked.is_err());
    let closed = async {
        while setup.server.abandoned() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), closed).await.unwrap();
}
