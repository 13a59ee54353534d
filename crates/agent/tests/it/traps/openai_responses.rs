//! Those of OpenAI's Responses API, and of the servers that speak it.

use serde_json::{Value, json};
use switchboard_models::Provider;
use switchboard_testkit::Reply;

use super::{check_table, spring};

/// A stream of these events with an end.
fn stream(mut events: Vec<Value>, status: &str, reason: Option<&str>, tokens: u64) -> Reply {
    events.push(json!({"type": format!("response.{status}"), "response": {
        "status": status, "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "usage": {"input_tokens": 5, "output_tokens": tokens}}}));
    Reply::events(&events.iter().map(Value::to_string).collect::<Vec<_>>())
}

/// A stream of whole items.
fn items(items: &[Value]) -> Reply {
    let done = |(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    stream(items.iter().enumerate().map(done).collect(), "completed", None, 5)
}

fn weather(id: Value, arguments: Value) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "get_weather", "arguments": arguments})
}

fn in_city(id: &str, city: &str) -> Value {
    weather(json!(id), json!(json!({"city": city}).to_string()))
}

fn said(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant",
        "content": [{"type": "output_text", "text": text}]})
}

fn thought(encrypted: Value) -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted})
}

fn done() -> Reply {
    items(&[said("Done.")])
}

// ML-3, ML-5
#[tokio::test]
async fn calls() {
    let both = "15 in Oslo | 15 in Rome | Done.";
    let (oslo, rome) = (in_city("a", "Oslo"), in_city("b", "Rome"));
    let light =
        json!({"type": "function_call", "call_id": "l", "name": "home_light", "arguments": ""});
    let camera =
        json!({"type": "function_call", "call_id": "c", "name": "camera", "arguments": "{}"});
    let long = in_city(&"x".repeat(80), "Oslo");
    let pieces = vec![
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "id": "f", "call_id": "a", "name": "get_weather", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "f", "delta": "{\"city\":"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "f", "delta": "\"Oslo\"}"}),
        json!({"type": "response.output_item.done", "item": oslo}),
    ];
    let all_at_the_end = json!({"type": "response.completed", "response": {"status": "completed", "output": [oslo, rome]}});
    check_table(
        Provider::OpenAiResponses,
        &done(),
        vec![
            ("two calls", vec![items(&[oslo.clone(), rome.clone()])], both),
            ("no indexes", vec![stream(pieces, "completed", None, 5)], "15 in Oslo | Done."),
            ("all with the end", vec![Reply::events(&[all_at_the_end.to_string()])], both),
            ("one id for two", vec![items(&[oslo.clone(), in_city("a", "Rome")])], both),
            (
                "no id",
                vec![items(&[weather(Value::Null, json!("{\"city\":\"Oslo\"}"))])],
                "15 in Oslo | Done.",
            ),
            ("an id that is too long", vec![items(&[long])], "15 in Oslo | Done."),
            (
                "arguments as an object",
                vec![items(&[weather(json!("a"), json!({"city": "Oslo"}))])],
                "15 in Oslo | Done.",
            ),
            ("no arguments", vec![items(&[light])], "on | Done."),
            (
                "reasoning, words and a call",
                vec![items(&[thought(json!("e")), said("I look."), oslo.clone()])],
                "15 in Oslo | Done.",
            ),
            (
                "reasoning that is not there",
                vec![items(&[thought(Value::Null), oslo.clone()])],
                "15 in Oslo | Done.",
            ),
            (
                "reasoning behind the call",
                vec![items(&[oslo.clone(), thought(json!("e"))])],
                "15 in Oslo | Done.",
            ),
        ],
    )
    .await;
    // Images go into the result itself.
    let sprung =
        spring(Provider::OpenAiResponses, vec![items(&[camera]), done(), done()], true).await;
    let kinds = |output: &Value| output[1]["type"] == "input_image";
    assert!(kinds(&sprung.sent[1]["input"][3]["output"]), "{:#}", sprung.sent[1]);
}

// ML-1, ML-3
#[tokio::test]
async fn endings() {
    let oslo = in_city("a", "Oslo");
    let cut = |status, reason, tokens| {
        let half = weather(json!("a"), json!("{\"city\":\"Osl"));
        let done = json!({"type": "response.output_item.done", "output_index": 0, "item": half});
        vec![stream(vec![done], status, reason, tokens)]
    };
    let not_run = "Error: Tool 'get_weather' was not run: the turn was cut by its token limit, so the call may be incomplete; make it again, with less text | Done.";
    let fails = |code: &str| {
        let error = json!({"code": code, "message": "no"});
        let event =
            json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
        Reply::events(&[event.to_string()])
    };
    check_table(
        Provider::OpenAiResponses,
        &done(),
        vec![
            ("cut by the limit", cut("incomplete", Some("max_output_tokens"), 5), not_run),
            ("cut by the limit, and nobody says so", cut("completed", None, 100), not_run),
            (
                "fails once",
                vec![fails("server_error"), items(std::slice::from_ref(&oslo))],
                "15 in Oslo | Done.",
            ),
        ],
    )
    .await;
    let refusal = json!({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]});
    let sprung = spring(Provider::OpenAiResponses, vec![items(&[refusal]), done()], true).await;
    assert_eq!(sprung.told, "No.");
    // Only reasoning, and then the limit.
    let nothing = json!({"type": "response.output_item.done", "output_index": 0, "item": thought(json!("e"))});
    let replies = vec![stream(vec![nothing], "incomplete", Some("max_output_tokens"), 5), done()];
    let sprung = spring(Provider::OpenAiResponses, replies, true).await;
    assert!(!sprung.sent[1].to_string().contains("rs_1"), "{:#}", sprung.sent[1]);
    for stream in [true, false] {
        let whole = json!({"status": "completed", "output": [oslo], "usage": {}});
        let replies = vec![Reply::json(200, &whole), done(), done()];
        assert_eq!(
            spring(Provider::OpenAiResponses, replies, stream).await.told,
            "15 in Oslo | Done."
        );
    }
}
