//! OpenAI's, and those of everybody who imitates it.

use serde_json::{Value, json};
use switchboard_models::Provider;
use switchboard_testkit::Reply;

use super::{check_table, spring};

/// A stream of these deltas, ending for this reason with so many tokens.
fn stream_of(deltas: &[Value], reason: &str, tokens: u64) -> Reply {
    let mut events = vec![
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": null, "obfuscation": "x9"}}]}),
    ];
    events.extend(deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})));
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": tokens}}));
    let mut events: Vec<_> = events.iter().map(Value::to_string).collect();
    events.push("[DONE]".to_owned());
    Reply::events(&events)
}

fn stream(deltas: &[Value], reason: &str) -> Reply {
    stream_of(deltas, reason, 5)
}

/// A delta with these fragments of calls.
fn calls(fragments: Value) -> Value {
    json!({"tool_calls": fragments})
}

fn done() -> Reply {
    stream(&[json!({"content": "Done."})], "stop")
}

// ML-3, ML-5
#[tokio::test]
async fn calls_with_odd_ids() {
    let weather =
        |city: &str| json!({"name": "get_weather", "arguments": json!({"city": city}).to_string()});
    let light = json!({"name": "home_light", "arguments": "{}"});
    let both = "15 in Oslo | 15 in Rome | Done.";
    let (oslo, rome) = (weather("Oslo"), weather("Rome"));
    let row = |deltas: &[Value], reason: &str| vec![stream(deltas, reason)];
    check_table(Provider::OpenAi, &done(), vec![
        ("as OpenAI sends it", row(&[
            calls(json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "get_weather", "arguments": ""}}])),
            calls(json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "get_weather", "arguments": ""}}])),
            calls(json!([{"index": 0, "function": {"arguments": "{\"city\":"}}])),
            calls(json!([{"index": 1, "function": {"arguments": "{\"city\":\"Rome\"}"}}])),
            calls(json!([{"index": 0, "function": {"arguments": "\"Oslo\"}"}}])),
        ], "tool_calls"), both),
        ("whole calls, index 0, other ids", row(&[
            calls(json!([{"index": 0, "id": "a", "function": oslo}])), calls(json!([{"index": 0, "id": "b", "function": rome}]))], "stop"), both),
        ("no ids, no indexes", row(&[calls(json!([{"function": oslo}, {"function": rome}]))], "stop"), both),
        ("ids \"\" and \"null\"", row(&[
            calls(json!([{"index": 0, "id": "", "function": oslo}, {"index": 1, "id": "null", "function": rome}]))], "tool_calls"), both),
        ("one id for two", row(&[
            calls(json!([{"index": 0, "id": "a", "function": oslo}, {"index": 1, "id": "a", "function": rome}]))], "tool_calls"), both),
        ("said again at the end", row(&[
            calls(json!([{"index": 0, "id": "a", "function": light}])), calls(json!([{"index": 0, "id": "a", "function": light}]))],
            "tool_calls"), "on | Done."),
        ("ids that others do not take", row(&[calls(json!([{"index": 0, "id": "functions.f:0", "function": light}]))], "tool_calls"),
            "on | Done."),
        ("the old way", row(&[json!({"function_call": light})], "function_call"), "on | Done."),
        ("the same id in the next turn", vec![
            stream(&[calls(json!([{"index": 0, "id": "a", "function": light}]))], "tool_calls"),
            stream(&[calls(json!([{"index": 0, "id": "a", "function": light}]))], "tool_calls")], "on | on | Done."),
    ]).await;
}

// ML-3, ML-5
#[tokio::test]
async fn calls_with_odd_arguments() {
    let one = |name: &str, arguments: Value, reason: &str| {
        let function = json!({"name": name, "arguments": arguments});
        vec![stream(
            &[calls(json!([{"index": 0, "id": "a", "type": "function", "function": function}]))],
            reason,
        )]
    };
    let cut = "Error: Tool 'get_weather' was not run: the turn was cut by its token limit, so the call may be incomplete; make it again, with less text | Done.";
    let half = json!({"name": "get_weather", "arguments": "{\"ci"});
    let half = calls(json!([{"index": 0, "id": "a", "function": half}]));
    check_table(Provider::OpenAi, &done(), vec![
        ("\"\"", one("home_light", json!(""), "tool_calls"), "on | Done."),
        ("null", one("home_light", Value::Null, "stop"), "on | Done."),
        ("an object", one("get_weather", json!({"city": "Oslo"}), "stop"), "15 in Oslo | Done."),
        ("encoded twice", one("get_weather", json!("\"{\\\"city\\\":\\\"Oslo\\\"}\""), "stop"), "15 in Oslo | Done."),
        ("broken", one("get_weather", json!("{\"ci"), "tool_calls"),
            "Error: Invalid parameters: the arguments are not a JSON object: EOF while parsing a string at line 1 column 4. Required parameters: city (string) | Done."),
        ("an array", one("get_weather", json!("[1]"), "tool_calls"),
            "Error: Invalid parameters: the arguments are not a JSON object: they are an array. Required parameters: city (string) | Done."),
        ("nobody's", one("delete_all", json!("{}"), "tool_calls"), "Error: Unknown tool \"delete_all\" | Done."),
        ("cut, and says so", vec![stream(std::slice::from_ref(&half), "length")], cut),
        ("cut, and vLLM does not say so", vec![stream_of(&[half], "tool_calls", 100)], cut),
    ]).await;
}

// ML-1, ML-7
#[tokio::test]
async fn endings() {
    let hi = json!({"content": "Hi"});
    let says = |reason: &str| vec![stream(std::slice::from_ref(&hi), reason)];
    let start = json!({"choices": [{"index": 0, "delta": hi}]}).to_string();
    let error = json!({"error": {"message": "out of memory", "code": "oops"}}).to_string();
    let finished =
        json!({"choices": [{"index": 0, "delta": hi, "finish_reason": "stop"}]}).to_string();
    let busy = |status: u16, said: &str| {
        vec![
            Reply::json(status, &json!({"error": {"message": said}}))
                .with_header("retry-after", "0"),
        ]
    };
    check_table(
        Provider::OpenAi,
        &done(),
        vec![
            ("stop", says("stop"), "Hi"),
            ("tool_calls without any", says("tool_calls"), "Hi"),
            ("length", says("length"), "Hi"),
            ("a filter", vec![stream(&[], "content_filter")], ""),
            ("a refusal", vec![stream(&[json!({"refusal": "No."})], "stop")], "No."),
            ("nothing at all", vec![stream(&[], "stop")], ""),
            ("no [DONE]", vec![Reply::events(&[finished])], "Hi"),
            ("an error after HTTP 200, nothing shown", vec![Reply::events(&[&error])], "Done."),
            (
                "an error after HTTP 200, something shown",
                vec![Reply::events(&[&start, &error])],
                "Server",
            ),
            ("cut before anything", vec![Reply::events(&[""; 0]).cut()], "Done."),
            ("cut after something", vec![Reply::events(&[&start]).cut()], "Cut"),
            ("429", busy(429, "slow down"), "Done."),
            ("no money", busy(429, "insufficient_quota"), "Rejected"),
            ("503", busy(503, "later"), "Done."),
            ("too long", busy(400, "maximum context length is 8"), "ContextFull"),
        ],
    )
    .await;
}

// ML-1, RS-6: reasoning goes back beside calls; images follow when all results are said.
#[tokio::test]
async fn what_goes_back() {
    let light = json!({"name": "home_light", "arguments": "{}"});
    let camera = json!({"name": "camera", "arguments": "{}"});
    let signed = json!({"google": {"thought_signature": "sig"}});
    let deltas = [
        json!({"reasoning_content": "Let "}),
        json!({"reasoning_content": "me"}),
        calls(
            json!([{"index": 0, "id": "a", "function": camera, "extra_content": signed}, {"index": 1, "id": "b", "function": light}]),
        ),
    ];
    let sprung = spring(Provider::OpenAi, vec![stream(&deltas, "tool_calls"), done()], true).await;
    let messages = &sprung.sent[1]["messages"];
    assert_eq!(messages[2]["reasoning_content"], "Let me");
    assert_eq!(messages[2]["tool_calls"][0]["extra_content"], signed);
    let roles: Vec<_> =
        messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(messages[5]["content"][1]["type"], "image_url");
    assert_eq!(
        (&sprung.sent[0]["max_tokens"], sprung.sent[0].get("max_completion_tokens")),
        (&json!(100), None)
    );
    assert_eq!(sprung.sent[0]["stream_options"], json!({"include_usage": true}));
}

// ML-1: servers that stream or not as they like.
#[tokio::test]
async fn whole_answers() {
    let answer = |message: Value, reason: &str| {
        Reply::json(200, &json!({"choices": [{"finish_reason": reason, "message": message}]}))
    };
    let weather = json!({"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}});
    let called = || answer(json!({"content": null, "tool_calls": [weather.clone()]}), "tool_calls");
    let said = || answer(json!({"content": "Done."}), "stop");
    for (stream, replies) in [
        (false, vec![called(), said()]),
        (true, vec![called(), said()]),
        (false, vec![called(), done()]),
    ] {
        assert_eq!(spring(Provider::OpenAi, replies, stream).await.told, "15 in Oslo | Done.");
    }
}
