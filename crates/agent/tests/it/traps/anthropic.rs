//! Anthropic's.

use serde_json::{Value, json};
use switchboard_agent::AgentEvent;
use switchboard_models::Provider;
use switchboard_testkit::Reply;

use super::{check_table, spring};

/// A stream of these blocks, each whole in its start unless it has pieces, ending for this reason.
fn stream(blocks: &[(Value, &[Value])], reason: &str) -> Reply {
    let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5, "output_tokens": 1});
    let start = json!({"type": "message_start", "message": {"content": [], "usage": usage}});
    let mut events = vec![start, json!({"type": "ping"}), json!({"type": "event_of_2027"})];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let pieces = deltas.iter();
        events.extend(
            pieces.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    // It may repeat; what it says is cumulative.
    for tokens in [3, 7] {
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens}}));
    }
    events.push(json!({"type": "message_stop"}));
    Reply::events(&events.iter().map(Value::to_string).collect::<Vec<_>>())
}

fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn piece(text: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": text})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn done() -> Reply {
    stream(&[(text("Done."), &[])], "end_turn")
}

fn overloaded() -> Value {
    json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
}

// ML-1, ML-3, ML-5
#[tokio::test]
async fn calls() {
    let oslo = [piece(""), piece("{\"city\": "), piece("\"Oslo\"}")];
    let broken = [piece("{\"city\": \"Os")];
    let nothing: &[Value] = &[];
    let empty = [piece("")];
    let no_input = json!({"type": "tool_use", "id": "t", "name": "get_weather"});
    let invalid = "Error: Invalid parameters: the arguments are not a JSON object: EOF while parsing a string at line 1 column 12. Required parameters: city (string)";
    let broken_then = format!("{invalid} | 15 in Oslo | Done.");
    let cut = "Error: Tool 'get_weather' was not run: the turn was cut by its token limit, so the call may be incomplete; make it again, with less text";
    let cut_then = format!("{cut} | {cut} | Done.");
    let missing = "Error: Invalid parameters: missing 'city'. Required parameters: city (string)";
    let missing_then = format!("{missing} | Done.");
    let one =
        |block: Value, deltas: &[Value], reason: &str| vec![stream(&[(block, deltas)], reason)];
    let t = |name: &str| call("toolu_1", name);
    check_table(
        Provider::Anthropic,
        &done(),
        vec![
            (
                "pieces, empty ones too",
                one(t("get_weather"), &oslo, "tool_use"),
                "15 in Oslo | Done.",
            ),
            (
                "no input at the start, as llama.cpp",
                one(no_input, &oslo, "tool_use"),
                "15 in Oslo | Done.",
            ),
            ("\"\" means {}", one(t("home_light"), &empty, "tool_use"), "on | Done."),
            ("no pieces at all", one(t("home_light"), nothing, "tool_use"), "on | Done."),
            (
                "{} where something is required",
                one(t("get_weather"), nothing, "tool_use"),
                &missing_then,
            ),
            (
                "the reason does not say tool_use",
                one(t("home_light"), nothing, "end_turn"),
                "on | Done.",
            ),
            (
                "broken JSON beside a good call",
                vec![stream(
                    &[(call("a", "get_weather"), &broken), (call("b", "get_weather"), &oslo)],
                    "tool_use",
                )],
                &broken_then,
            ),
            (
                "cut in the middle of the second call",
                vec![stream(
                    &[(call("a", "get_weather"), &oslo), (call("b", "get_weather"), &broken)],
                    "max_tokens",
                )],
                &cut_then,
            ),
            (
                "one id for two",
                vec![stream(&[(t("home_light"), nothing), (t("get_weather"), &oslo)], "tool_use")],
                "on | 15 in Oslo | Done.",
            ),
            (
                "a tool that nobody offered",
                one(t("delete_all"), nothing, "tool_use"),
                "Error: Unknown tool \"delete_all\" | Done.",
            ),
            (
                "the same id in the next turn",
                vec![
                    stream(&[(t("home_light"), nothing)], "tool_use"),
                    stream(&[(t("home_light"), nothing)], "tool_use"),
                ],
                "on | on | Done.",
            ),
        ],
    )
    .await;
}

// ML-1, ML-5: what is not a call, kept and sent back.
#[tokio::test]
async fn other_blocks() {
    let nothing: &[Value] = &[];
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let signed = [
        json!({"type": "thinking_delta", "thinking": "Hm"}),
        json!({"type": "signature_delta", "signature": "EqQB"}),
    ];
    let only_signed = [json!({"type": "signature_delta", "signature": "EqQC"})];
    let light = call("toolu_1", "home_light");
    let replies = vec![
        stream(
            &[
                (thinking.clone(), &signed),
                (thinking.clone(), &only_signed),
                (json!({"type": "redacted_thinking", "data": "xyz"}), nothing),
                (json!({"type": "block_of_2027", "x": 1.10}), &[json!({"type": "delta_of_2027"})]),
                (text(""), nothing),
                (light.clone(), nothing),
            ],
            "tool_use",
        ),
        done(),
    ];
    let sprung = spring(Provider::Anthropic, replies, true).await;
    assert_eq!(sprung.told, "on | Done.");
    let expected = json!([
        {"type": "thinking", "thinking": "Hm", "signature": "EqQB"},
        {"type": "thinking", "thinking": "", "signature": "EqQC"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "block_of_2027", "x": 1.10},
        light,
    ]);
    assert_eq!(sprung.sent[1]["messages"][1]["content"], expected);
    // Tokens of the cache count, and reports are cumulative.
    let usage = sprung.events.iter().find_map(|event| match event {
        AgentEvent::Turn { usage, .. } => Some((usage.input_tokens, usage.output_tokens)),
        _ => None,
    });
    assert_eq!(usage, Some((12, 7)));
}

// ML-5: a server's own tool that has not answered goes on only if nothing but results is said.
#[tokio::test]
async fn a_servers_own_tools() {
    let nothing: &[Value] = &[];
    let search =
        json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}});
    let replies =
        vec![stream(&[(search, nothing), (call("a", "home_light"), nothing)], "tool_use"), done()];
    let sprung = spring(Provider::Anthropic, replies, true).await;
    assert_eq!(sprung.told, "on | Done.");
    assert_eq!(sprung.sent[0]["tools"], sprung.sent[1]["tools"]);
}

// RS-6, ML-5: results of every kind stand in the one message after the calls.
#[tokio::test]
async fn results() {
    let nothing: &[Value] = &[];
    let blocks = [
        (text("Look."), nothing),
        (call("a", "camera"), nothing),
        (call("b", "get_weather"), nothing),
    ];
    let sprung = spring(Provider::Anthropic, vec![stream(&blocks, "tool_use"), done()], true).await;
    let results = &sprung.sent[1]["messages"][2]["content"];
    assert_eq!(results[0]["content"][1]["type"], "image", "{results}");
    assert_eq!(
        (&results[1]["is_error"], results[0].get("is_error")),
        (&json!(true), None),
        "{results}"
    );
}

// ML-1, ML-7
#[tokio::test]
async fn endings() {
    let nothing: &[Value] = &[];
    let says = |reason: &str| vec![stream(&[(text("Hi"), nothing)], reason)];
    let late = |before: &[Value]| {
        let events: Vec<_> = before.iter().chain([&overloaded()]).map(Value::to_string).collect();
        vec![Reply::events(&events)]
    };
    let start = json!({"type": "message_start", "message": {"content": []}});
    let begun = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Half"}});
    let light = |reason: &str| vec![stream(&[(call("a", "home_light"), nothing)], reason)];
    let busy = |status| vec![Reply::json(status, &overloaded()).with_header("retry-after", "0")];
    check_table(Provider::Anthropic, &done(), vec![
        ("end_turn", says("end_turn"), "Hi"),
        ("stop_sequence", says("stop_sequence"), "Hi"),
        ("max_tokens", says("max_tokens"), "Hi"),
        ("refusal", says("refusal"), "Hi"),
        ("pause_turn", says("pause_turn"), "Hi"),
        ("context", says("model_context_window_exceeded"), "Hi"),
        ("something new", says("reason_of_2027"), "Hi"),
        ("nothing at all", vec![stream(&[], "end_turn")], ""),
        ("a call in a refusal", light("refusal"), "Error: Tool 'home.light' was not run: the provider declined the turn | Answer"),
        ("a call and no room", light("model_context_window_exceeded"),
            "Error: Tool 'home.light' was not run: the conversation no longer fits the model | Answer"),
        ("overloaded after HTTP 200, nothing shown", late(std::slice::from_ref(&start)), "Done."),
        ("overloaded after HTTP 200, something shown", late(&[start, begun]), "Overloaded"),
        ("529", busy(529), "Done."),
        ("429", busy(429), "Done."),
        ("500", busy(500), "Done."),
        ("504", busy(504), "Done."),
        ("400", busy(400), "Rejected"),
        ("402", busy(402), "Rejected"),
        ("403", busy(403), "Auth"),
        ("404", busy(404), "Rejected"),
        ("413", busy(413), "ContextFull"),
    ]).await;
}

// ML-1: the same in one piece.
#[tokio::test]
async fn whole_answers() {
    let answer = |content: Value, reason: &str| {
        Reply::json(
            200,
            &json!({"type": "message", "content": content, "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}}),
        )
    };
    let thought = json!({"type": "thinking", "thinking": "", "signature": "s"});
    let weather =
        json!({"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Oslo"}});
    let replies = vec![
        answer(json!([thought, weather.clone(), weather]), "tool_use"),
        answer(json!([{"type": "text", "text": "Done."}]), "end_turn"),
    ];
    let sprung = spring(Provider::Anthropic, replies, false).await;
    assert_eq!(sprung.told, "15 in Oslo | 15 in Oslo | Done.");
    assert_eq!(sprung.sent[1]["messages"][1]["content"][0], thought);
}
