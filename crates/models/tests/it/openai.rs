//! The traps of OpenAI-compatible servers.

use serde_json::json;
use switchboard_models::{FailureKind, Message, ModelEvent, Provider};
use switchboard_testkit::Reply;

use crate::common::{Setup, told};

/// A stream whose chunks have these deltas, then `finish`, usage and the end.
fn stream(deltas: &[&str], finish: &str) -> Reply {
    let mut events: Vec<String> = deltas
        .iter()
        .map(|delta| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#))
        .collect();
    events
        .push(format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}"#));
    events.push(r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#.to_owned());
    events.push("[DONE]".to_owned());
    Reply::events(&events)
}

/// The turn that a stream becomes, however it is cut into pieces.
async fn check(deltas: &[&str], finish: &str) -> String {
    let mut results = Vec::new();
    for size in [1, 3, 1 << 20] {
        let setup = Setup::new(Provider::OpenAi, [stream(deltas, finish).in_pieces(size)]).await;
        let turn = setup.ask(true).await.unwrap();
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (10, 5));
        results.push(told(&turn));
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the pieces matter: {results:?}");
    results.remove(0)
}

/// A delta with these fragments of calls.
fn calls(fragments: &str) -> String {
    format!(r#"{{"tool_calls":[{fragments}]}}"#)
}

// ML-1, ML-3: which fragment belongs to which call.
#[tokio::test]
async fn fragments_find_their_calls() {
    let whole = r#""function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}"#;
    let other = r#""function":{"name":"home_light","arguments":"{}"}"#;
    let oslo = r#"get_weather {"city":"Oslo"}"#;
    let table: &[(&str, &[&str], String)] = &[
        (
            "as OpenAI does it, interleaved",
            &[
                r#"{"index":0,"id":"a","type":"function","function":{"name":"get_weather","arguments":""}}"#,
                r#"{"index":1,"id":"b","type":"function","function":{"name":"home_light","arguments":""}}"#,
                r#"{"index":0,"function":{"arguments":"{\"city\":"}}"#,
                r#"{"index":1,"function":{"arguments":"{}"}}"#,
                r#"{"index":0,"function":{"arguments":"\"Oslo\"}"}}"#,
            ],
            format!("a {oslo}; b home.light {{}}"),
        ),
        (
            "whole calls, all with index 0, other ids",
            &[
                &format!(r#"{{"index":0,"id":"a",{whole}}}"#),
                &format!(r#"{{"index":0,"id":"b",{other}}}"#),
            ],
            format!("a {oslo}; b home.light {{}}"),
        ),
        (
            "whole calls, index 0, no ids",
            &[&format!(r#"{{"index":0,{whole}}}"#), &format!(r#"{{"index":0,{whole}}}"#)],
            format!("call_1_0 {oslo}; call_1_1 {oslo}"),
        ),
        (
            "no index, no id, in one chunk",
            &[&format!(r#"{{{whole}}},{{{other}}}"#)],
            format!("call_1_0 {oslo}; call_1_1 home.light {{}}"),
        ),
    ];
    check_table(table).await;
}

// ML-3: ids and indexes that come late, twice, shifted or not at all.
#[tokio::test]
async fn ids_are_not_to_be_trusted() {
    let whole = r#""function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}"#;
    let other = r#""function":{"name":"home_light","arguments":"{}"}"#;
    let other_city = r#""function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}"#;
    let oslo = r#"get_weather {"city":"Oslo"}"#;
    let table: &[(&str, &[&str], String)] = &[
        (
            "no index: later fragments belong to the last call",
            &[
                r#"{"id":"a","function":{"name":"get_weather"}}"#,
                r#"{"function":{"arguments":"{\"city\""}}"#,
                r#"{"function":{"arguments":":\"Oslo\"}"}}"#,
            ],
            format!("a {oslo}"),
        ),
        (
            "the id again in every fragment",
            &[
                r#"{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\""}}"#,
                r#"{"index":0,"id":"a","function":{"name":"get_weather","arguments":":\"Oslo\"}"}}"#,
            ],
            format!("a {oslo}"),
        ),
        (
            "indexes that are shifted but ids that hold",
            &[
                r#"{"index":1,"id":"a","function":{"name":"get_weather","arguments":"{\"city\""}}"#,
                r#"{"index":2,"id":"a","function":{"arguments":":\"Oslo\"}"}}"#,
            ],
            format!("a {oslo}"),
        ),
        (
            "ids that are none",
            &[
                &format!(r#"{{"index":0,"id":"",{whole}}}"#),
                &format!(r#"{{"index":1,"id":"null",{other}}}"#),
            ],
            format!("call_1_0 {oslo}; call_1_1 home.light {{}}"),
        ),
        (
            "one id for two calls",
            &[&format!(r#"{{"index":0,"id":"a",{whole}}},{{"index":1,"id":"a",{other_city}}}"#)],
            format!(r#"a {oslo}; call_1_1 get_weather {{"city":"Rome"}}"#),
        ),
        (
            "all calls once more at the end",
            &[
                &format!(r#"{{"index":0,"id":"a",{whole}}}"#),
                r#"{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}"#,
                &format!(r#"{{"index":0,"id":"a",{whole}}}"#),
            ],
            format!("a {oslo}"),
        ),
        (
            "the id comes late",
            &[
                r#"{"index":0,"function":{"name":"get_weather","arguments":""}}"#,
                r#"{"index":0,"id":"a","function":{"arguments":"{\"city\":\"Oslo\"}"}}"#,
            ],
            format!("a {oslo}"),
        ),
    ];
    check_table(table).await;
}

/// Checks rows of a title, the fragments of a stream and the calls that they become.
async fn check_table(table: &[(&str, &[&str], String)]) {
    for (title, fragments, expected) in table {
        let deltas: Vec<String> = fragments.iter().map(|fragment| calls(fragment)).collect();
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        for finish in ["tool_calls", "stop"] {
            assert_eq!(check(&deltas, finish).await, format!("ToolUse |  | {expected}"), "{title}");
        }
    }
}

// ML-3, ML-5: arguments of every kind.
#[tokio::test]
async fn arguments_come_as_anything() {
    for (arguments, expected) in [
        (r#""""#, "{}"),
        ("null", "{}"),
        (r#"{"city":"Oslo"}"#, r#"{"city":"Oslo"}"#),
        (r#""{\"city\":\"Oslo\"}""#, r#"{"city":"Oslo"}"#),
        (r#""\"{\\\"n\\\":1.0}\"""#, r#"{"n":1.0}"#),
        (r#""{\"city\":\"Os""#, r#"broken {"city":"Os"#),
        (r#""[1]""#, "broken [1]"),
    ] {
        let delta = calls(&format!(
            r#"{{"index":0,"id":"a","function":{{"name":"get_weather","arguments":{arguments}}}}}"#
        ));
        let told = check(&[&delta], "tool_calls").await;
        assert_eq!(told, format!("ToolUse |  | a get_weather {expected}"), "{arguments}");
    }
    let without = calls(r#"{"index":0,"id":"a","function":{"name":"get_weather"}}"#);
    assert_eq!(check(&[&without], "stop").await, "ToolUse |  | a get_weather {}");
    let old = r#"{"function_call":{"name":"get_weather","arguments":"{}"}}"#;
    assert_eq!(check(&[old], "function_call").await, "ToolUse |  | call_1_0 get_weather {}");
}

// ML-1: how a turn ends.
#[tokio::test]
async fn endings_are_told_apart() {
    assert_eq!(
        check(&[r#"{"content":"Hé"}"#, r#"{"content":"llo"}"#], "stop").await,
        "Answer | Héllo | "
    );
    assert_eq!(check(&[r#"{"content":"Hi"}"#], "length").await, "MaxTokens | Hi | ");
    assert_eq!(check(&[r#"{"content":""}"#], "content_filter").await, "Refusal |  | ");
    assert_eq!(check(&[r#"{"refusal":"No."}"#], "stop").await, "Refusal | No. | ");
    assert_eq!(check(&[r#"{"content":"Hi"}"#], "tool_calls").await, "Answer | Hi | ");
    assert_eq!(check(&[r#"{"content":"Hi"}"#], "eos").await, "eos | Hi | ");
    let parts = r#"{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Hi"}]}"#;
    assert_eq!(check(&[parts], "stop").await, "Answer | Hi | ");
    // vLLM says `tool_calls` although the limit cut the call.
    let cut =
        calls(r#"{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"ci"}}"#);
    let setup = Setup::with(Provider::OpenAi, [stream(&[&cut], "tool_calls")], |config| {
        config.max_tokens = Some(5);
    });
    let turn = setup.await.ask(true).await.unwrap();
    assert_eq!(told(&turn), r#"MaxTokens |  | a get_weather broken {"ci"#);
}

// ML-1: not streamed, and servers that do as they like.
#[tokio::test]
async fn answers_in_one_piece() {
    let answer = json!({"id": "x", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "home_light", "arguments": "{\"city\":\"Rome\"}"}},
            {"id": "b", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Rome"}}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}});
    for stream in [false, true] {
        let reply = Reply::json(200, &answer).in_pieces(2);
        let setup = Setup::new(Provider::OpenAi, [reply]).await;
        let turn = setup.ask(stream).await.unwrap();
        let rome = r#"{"city":"Rome"}"#;
        assert_eq!(told(&turn), format!("ToolUse |  | a home.light {rome}; b get_weather {rome}"));
        assert_eq!(turn.usage.output_tokens, 4);
    }
    // A stream although none was asked for.
    let setup = Setup::new(Provider::OpenAi, [stream(&[r#"{"content":"Hi"}"#], "stop")]).await;
    assert_eq!(told(&setup.ask(false).await.unwrap()), "Answer | Hi | ");
}

// ML-1: what is heard while it comes.
#[tokio::test]
async fn events_come_in_order() {
    let call = calls(r#"{"index":0,"id":"a","function":{"name":"home_light","arguments":"{}"}}"#);
    let deltas =
        [r#"{"reasoning_content":"Hm"}"#, r#"{"content":"On "}"#, r#"{"content":"it"}"#, &call];
    let setup = Setup::new(Provider::OpenAi, [stream(&deltas, "tool_calls")]).await;
    let (turn, events) = setup.ask_after(&[Message::User("x".into())], true).await;
    let usage = turn.unwrap().usage;
    let expected = [
        ModelEvent::Reasoning("Hm".to_owned()),
        ModelEvent::Text("On ".to_owned()),
        ModelEvent::Text("it".to_owned()),
        ModelEvent::CallSeen { name: "home.light".to_owned() },
        ModelEvent::Usage(usage),
    ];
    assert_eq!(events, expected);
    // In one piece, the same in fewer words.
    let answer = json!({"choices": [{"finish_reason": "stop", "message": {"content": "On it", "reasoning": "Hm"}}]});
    let setup = Setup::new(Provider::OpenAi, [Reply::json(200, &answer)]).await;
    let (turn, events) = setup.ask_after(&[Message::User("x".into())], false).await;
    let usage = ModelEvent::Usage(turn.unwrap().usage);
    assert_eq!(
        events,
        [ModelEvent::Reasoning("Hm".to_owned()), ModelEvent::Text("On it".to_owned()), usage]
    );
}

// ML-1: errors after the status said success, and streams that just end.
#[tokio::test]
async fn failures_after_success() {
    let check = async |reply: Reply| {
        let setup = Setup::with(Provider::OpenAi, [reply], |config| config.max_retries = Some(0));
        setup.await.ask(true).await.unwrap_err()
    };
    let start = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let error =
        check(Reply::events(&[start, r#"{"error":{"message":"out of memory","code":"oops"}}"#]))
            .await;
    assert_eq!(error.kind, FailureKind::Server);
    assert!(error.message.ends_with("out of memory (oops)"), "{error}");
    assert_eq!(check(Reply::events(&[start])).await.kind, FailureKind::Cut);
    assert_eq!(check(Reply::events(&[start]).cut()).await.kind, FailureKind::Cut);
    assert_eq!(check(Reply::events(&["data: <html>"])).await.kind, FailureKind::Unreadable);
    let half = Reply::new(200, "text/event-stream", format!("data: {start}\n\ndata: {{\"choi"));
    assert_eq!(check(half.clone()).await.kind, FailureKind::Cut);
    assert_eq!(check(half.in_pieces(4).cut()).await.kind, FailureKind::Cut);
    let no_choices = Reply::json(200, &json!({"object": "list"}));
    assert_eq!(check(no_choices).await.kind, FailureKind::Unreadable);
    // No `[DONE]`, which some servers never send: fine once there was a reason to finish.
    let finished = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let setup = Setup::new(
        Provider::OpenAi,
        [Reply::events(&[": ping", "data:", "event: x\ndata: {}", finished])],
    );
    assert_eq!(told(&setup.await.ask(true).await.unwrap()), "Answer | Hi | ");
}

// ML-2: Qwen behind an OpenAI-compatible server leaks the same way. What was said before a call makes it prose.
#[tokio::test]
async fn leaked_calls_are_recovered_and_never_shown() {
    let call = r#"_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>"#;
    let deltas = |texts: &[&str]| -> Vec<String> {
        texts.iter().map(|text| format!(r#"{{"content":"{text}"}}"#)).collect()
    };
    let ask = async |texts: &[&str]| {
        let deltas = deltas(texts);
        let deltas: Vec<_> = deltas.iter().map(String::as_str).collect();
        let setup = Setup::new(Provider::OpenAi, [stream(&deltas, "stop")]).await;
        let (turn, events) = setup.ask_after(&[Message::User("x".into())], true).await;
        let shown: String = events
            .iter()
            .map(|event| match event {
                ModelEvent::Text(text) => text.clone(),
                ModelEvent::CallSeen { name } => format!("[{name}]"),
                _ => String::new(),
            })
            .collect();
        (told(&turn.unwrap()), shown)
    };
    let recovered = r#"ToolUse |  | call_1_0 get_weather {"city":"Oslo"} recovered"#;
    let leaked = ask(&["\\n", "<tool", call, "\\n"]).await;
    assert_eq!(leaked, (recovered.to_owned(), "[get_weather]".to_owned()));
    let whole = r#"<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>"#;
    let quoted = format!("Write {whole}, and so on.");
    let prose = ask(&["Write ", "<tool", call, ", and so on."]).await;
    assert_eq!(prose, (format!("Answer | {quoted} | "), quoted));
    let first = format!("{whole} is a call.");
    let prose = ask(&["<tool", call, " is a call."]).await;
    assert_eq!(prose, (format!("Answer | {first} | "), first));
}
