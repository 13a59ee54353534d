//! How each wire tells a model that a call failed (SPEC RS-4).

use serde_json::{Value, json};
use switchboard_models::{Message, Provider, ToolReply};
use switchboard_testkit::Reply;

use crate::common::{Setup, call, said};

/// What the wire says of two failed results, the second of which begins with `Error: ` already.
async fn told(provider: Provider) -> Value {
    let setup = Setup::new(provider, [Reply::json(400, &json!({"error": "enough"}))]).await;
    let failed = |content: &str, tool_call_id: &str| {
        let (content, tool_call_id) = (content.to_owned(), tool_call_id.to_owned());
        Message::Tool(ToolReply { content, tool_call_id, is_error: true, ..ToolReply::default() })
    };
    let calls = vec![call("a", "home_light", "{}"), call("b", "home_light", "{}")];
    let messages = [
        Message::User("Light!".into()),
        said("", calls),
        failed("the lamp is broken", "a"),
        failed("Error: the lamp is gone", "b"),
    ];
    setup.ask_after(&messages, false).await.0.unwrap_err();
    setup.server.captured()[0].body.clone()
}

// RS-4
#[tokio::test]
async fn anthropic_gets_the_flag_and_the_text_unchanged() {
    let sent = told(Provider::Anthropic).await;
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": "the lamp is broken"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "Error: the lamp is gone"}
    ]);
    assert_eq!(sent["messages"][2]["content"], expected, "{sent}");
}

// RS-4
#[tokio::test]
async fn wires_without_a_flag_say_it_once_in_the_text() {
    for provider in [Provider::Ollama, Provider::OpenAi] {
        let sent = told(provider).await;
        assert_eq!(sent["messages"][2]["content"], "Error: the lamp is broken", "{sent}");
        assert_eq!(sent["messages"][3]["content"], "Error: the lamp is gone", "{sent}");
    }
    let sent = told(Provider::OpenAiResponses).await;
    assert_eq!(sent["input"][3]["output"], "Error: the lamp is broken", "{sent}");
    assert_eq!(sent["input"][4]["output"], "Error: the lamp is gone", "{sent}");
}
