//! The traps of Anthropic's stream.

use serde_json::{Value, json};
use switchboard_models::{FailureKind, Provider};
use switchboard_testkit::Reply;

use crate::common::{Setup, told};

const START: &str = r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}"#;

fn stop(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":5}}}}"#
    )
}

/// A stream of these events between its beginning and its end, names included.
fn stream(events: &[&str], reason: &str) -> Reply {
    let stop = stop(reason);
    let all = [&[START], events, &[&stop, r#"{"type":"message_stop"}"#]].concat();
    let named: Vec<String> = all
        .iter()
        .map(|event| {
            let parsed: Value = serde_json::from_str(event).unwrap();
            format!("event: {}\ndata: {event}", parsed["type"].as_str().unwrap())
        })
        .collect();
    Reply::events(&named)
}

/// The turn that a stream becomes, however it is cut into pieces; and its native content.
async fn check(events: &[&str], reason: &str) -> (String, Value) {
    let mut results = Vec::new();
    for size in [1, 7, 1 << 20] {
        let setup = Setup::new(Provider::Anthropic, [stream(events, reason).in_pieces(size)]).await;
        let turn = setup.ask(true).await.unwrap();
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (10, 5));
        let native = turn.message.native.clone().map(|native| native.content).unwrap_or_default();
        results.push((told(&turn), native));
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the pieces matter: {results:?}");
    results.remove(0)
}

/// The events of a call whose arguments come in these pieces.
fn call(index: u64, id: &str, name: &str, pieces: &[&str]) -> Vec<String> {
    let mut events = vec![json!({"type": "content_block_start", "index": index,
            "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}})];
    events.extend(pieces.iter().map(|piece| {
        json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "input_json_delta", "partial_json": piece}})
    }));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events.iter().map(Value::to_string).collect()
}

// ML-1: everything a thinking model sends, kept to be sent back.
#[tokio::test]
async fn blocks_are_rebuilt_as_they_came() {
    let tool = call(3, "toolu_1", "home_light", &["", "{\"city\": ", "\"Zü", "rich\"}"]);
    let mut events = vec![
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Okay"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"new_delta","what":1}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"a":1}}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"event_of_the_future","x":{}}"#,
    ];
    events.extend(tool.iter().map(String::as_str));
    let (told, native) = check(&events, "tool_use").await;
    assert_eq!(told, r#"ToolUse | Okay | toolu_1 home.light {"city":"Zürich"}"#);
    assert_eq!(
        native,
        json!([
            {"type": "thinking", "thinking": "Let me", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "Okay", "citations": [{"a": 1}]},
            {"type": "tool_use", "id": "toolu_1", "name": "home_light", "input": {"city": "Zürich"}}])
    );
}

// ML-3, ML-5
#[tokio::test]
async fn calls_survive_what_servers_do_to_them() {
    let check_calls = async |calls: &[Vec<String>], reason: &str| {
        let events: Vec<&str> = calls.iter().flatten().map(String::as_str).collect();
        check(&events, reason).await.0
    };
    let (name, oslo) = ("get_weather", r#"{"city":"Oslo"}"#);
    let one = |pieces: &[&str]| call(0, "toolu_1", name, pieces);
    assert_eq!(check_calls(&[one(&[])], "tool_use").await, "ToolUse |  | toolu_1 get_weather {}");
    assert_eq!(check_calls(&[one(&[""])], "end_turn").await, "ToolUse |  | toolu_1 get_weather {}");
    assert_eq!(
        check_calls(&[one(&["{\"ci"])], "max_tokens").await,
        r#"MaxTokens |  | toolu_1 get_weather broken {"ci"#
    );
    // Ids twice or none, indexes all 0.
    let twice =
        [call(0, "t", name, &[oslo]), call(0, "t", name, &[oslo]), call(0, "", name, &[oslo])];
    assert_eq!(
        check_calls(&twice, "tool_use").await,
        format!("ToolUse |  | t {name} {oslo}; call_1_1 {name} {oslo}; call_1_2 {name} {oslo}")
    );
    // The whole input at the start and no pieces.
    let whole = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"get_weather","input":{"city":"Oslo"}}}"#;
    assert_eq!(check(&[whole], "tool_use").await.0, format!("ToolUse |  | t get_weather {oslo}"));
    // A server's own tools are not ours to run, but go back as they came.
    let server = r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#;
    let (told, native) = check(&[server], "pause_turn").await;
    assert_eq!(told, "pause_turn |  | ");
    assert_eq!(native[0]["type"], "server_tool_use");
}

// ML-1
#[tokio::test]
async fn endings_are_told_apart() {
    let text =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#;
    for (reason, expected) in [
        ("end_turn", "Answer"),
        ("stop_sequence", "Answer"),
        ("max_tokens", "MaxTokens"),
        ("refusal", "Refusal"),
        ("model_context_window_exceeded", "ContextFull"),
        ("brand_new", "brand_new"),
    ] {
        assert_eq!(check(&[text], reason).await.0, format!("{expected} | Hi | "));
    }
    assert_eq!(check(&[], "end_turn").await, ("Answer |  | ".to_owned(), Value::Null));
    // A thought that was cut has no signature and would be rejected.
    let cut = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Le","signature":""}}"#;
    assert_eq!(check(&[cut], "max_tokens").await.1, Value::Null);
}

// ML-1
#[tokio::test]
async fn answers_in_one_piece() {
    let answer = json!({"id": "msg", "type": "message", "role": "assistant",
        "content": [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "Ok."},
            {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Oslo"}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 8}});
    let setup = Setup::new(Provider::Anthropic, [Reply::json(200, &answer).in_pieces(3)]).await;
    let turn = setup.ask(false).await.unwrap();
    assert_eq!(told(&turn), r#"ToolUse | Ok. | t get_weather {"city":"Oslo"}"#);
    assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (6, 8));
    assert_eq!(turn.message.native.unwrap().content, answer["content"]);
    let request = &setup.server.captured()[0];
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.body["stream"], json!(false));
}

// ML-1, ML-7: an error can come after HTTP 200, also as the first thing.
#[tokio::test]
async fn failures_after_success() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let text =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#;
    // Nothing was shown: asked again.
    let setup = Setup::new(
        Provider::Anthropic,
        [Reply::events(&[START, overloaded]), stream(&[text], "end_turn")],
    );
    assert_eq!(told(&setup.await.ask(true).await.unwrap()), "Answer | Hi | ");
    // Something was: the failure is told.
    let setup = Setup::new(Provider::Anthropic, [Reply::events(&[START, text, overloaded])]).await;
    let error = setup.ask(true).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Overloaded);
    assert_eq!(setup.server.captured().len(), 1);
    let setup = Setup::new(Provider::Anthropic, [Reply::events(&[START, text])]).await;
    assert_eq!(setup.ask(true).await.unwrap_err().kind, FailureKind::Cut);
}
