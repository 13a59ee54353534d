//! The traps of the Responses API's stream.

use serde_json::{Value, json};
use switchboard_models::{FailureKind, Message, ModelEvent, Provider, ToolReply};
use switchboard_testkit::{Reply, rules};

use crate::common::{Setup, told};

/// A stream of these events, names included.
fn events(events: &[Value]) -> Reply {
    let named =
        |event: &Value| format!("event: {}\ndata: {event}", event["type"].as_str().unwrap());
    Reply::events(&events.iter().map(named).collect::<Vec<_>>())
}

/// The last event of a stream.
fn end(status: &str, reason: Value, output: &[Value]) -> Value {
    let details = if reason.is_null() { Value::Null } else { json!({"reason": reason}) };
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15});
    json!({"type": format!("response.{status}"), "sequence_number": 99, "response": {
        "id": "resp_1", "object": "response", "status": status, "error": null, "incomplete_details": details,
        "output": output, "usage": usage}})
}

fn stream(mut before: Vec<Value>, status: &str, reason: Value) -> Reply {
    before.insert(0, json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}));
    before.push(end(status, reason, &[]));
    events(&before)
}

/// The turn that a stream becomes, however it is cut into pieces; and its native content.
async fn check(before: Vec<Value>, status: &str, reason: Value) -> (String, Value) {
    let mut results = Vec::new();
    for size in [1, 7, 1 << 20] {
        let reply = stream(before.clone(), status, reason.clone()).in_pieces(size);
        let setup = Setup::new(Provider::OpenAiResponses, [reply]).await;
        let turn = setup.ask(true).await.unwrap();
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (10, 5));
        let native = turn.message.native.clone().map(|native| native.content).unwrap_or_default();
        results.push((told(&turn), native));
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the pieces matter: {results:?}");
    results.remove(0)
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn text_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "item_id": format!("msg_{index}"),
        "content_index": 0, "delta": delta, "logprobs": [], "obfuscation": "x7Qp"})
}

fn message(index: u64, text: &str) -> Value {
    json!({"type": "message", "id": format!("msg_{index}"), "status": "completed", "role": "assistant",
        "phase": "final_answer", "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

fn reasoning(summary: &[&str], encrypted: &str) -> Value {
    let summary = summary.iter().map(|text| json!({"type": "summary_text", "text": text}));
    json!({"type": "reasoning", "id": "rs_1", "summary": summary.collect::<Vec<_>>(), "encrypted_content": encrypted})
}

fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "status": "completed", "call_id": id,
        "name": name, "arguments": arguments})
}

/// The events of a call whose arguments come in these pieces.
fn call(index: u64, item: &Value, pieces: &[&str]) -> Vec<Value> {
    let mut start = item.clone();
    (start["arguments"], start["status"]) = (json!(""), json!("in_progress"));
    let mut events = vec![added(index, &start)];
    events.extend(pieces.iter().map(|piece| {
        json!({"type": "response.function_call_arguments.delta", "output_index": index,
            "item_id": item["id"], "delta": piece})
    }));
    events.push(json!({"type": "response.function_call_arguments.done", "output_index": index,
        "item_id": item["id"], "arguments": item["arguments"]}));
    events.push(done(index, item));
    events
}

// ML-1: everything a reasoning model sends, kept to be sent back.
#[tokio::test]
async fn items_are_rebuilt_as_they_came() {
    let thought = reasoning(&["Let me", "look"], "gAAAAAB");
    let mut begun = thought.clone();
    (begun["summary"], begun["encrypted_content"]) = (json!([]), json!("incomplete"));
    let call_item = function_call("call_1", "home_light", "{\"city\": \"Zürich\"}");
    let summary = |kind: &str, part: u64, delta: &str| {
        json!({"type": format!("response.reasoning_summary_{kind}"), "output_index": 0, "item_id": "rs_1",
            "summary_index": part, "delta": delta})
    };
    let mut all = vec![
        added(0, &begun),
        summary("part.added", 0, ""),
        summary("text.delta", 0, "Let "),
        summary("text.delta", 0, "me"),
        summary("part.added", 1, ""),
        summary("text.delta", 1, "look"),
        done(0, &thought),
        added(1, &json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []})),
        json!({"type": "response.content_part.added", "output_index": 1, "item_id": "msg_1"}),
        text_delta(1, "Oka"),
        text_delta(1, "y"),
        json!({"type": "response.event_of_the_future", "output_index": 1}),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "Okay"}),
        done(1, &message(1, "Okay")),
    ];
    all.extend(call(2, &call_item, &["", "{\"city\": ", "\"Zü", "rich\"}"]));
    let (told, native) = check(all.clone(), "completed", Value::Null).await;
    assert_eq!(told, r#"ToolUse | Okay | call_1 home.light {"city":"Zürich"}"#);
    assert_eq!(native, json!([thought, message(1, "Okay"), call_item]));

    let reply = stream(all, "completed", Value::Null);
    let setup = Setup::new(Provider::OpenAiResponses, [reply]).await;
    let (turn, heard) = setup.ask_after(&[Message::User("x".into())], true).await;
    let thoughts = ["Let ", "me", "\n\n", "look"];
    let mut expected: Vec<_> = thoughts.map(|text| ModelEvent::Reasoning(text.to_owned())).to_vec();
    expected.extend(["Oka", "y"].map(|text| ModelEvent::Text(text.to_owned())));
    expected.push(ModelEvent::CallSeen { name: "home.light".to_owned() });
    expected.push(ModelEvent::Usage(turn.unwrap().usage));
    assert_eq!(heard, expected);
}

// ML-3, ML-5
#[tokio::test]
async fn calls_survive_what_servers_do_to_them() {
    let oslo = r#"{"city":"Oslo"}"#;
    let told_of = async |events: Vec<Value>| check(events, "completed", Value::Null).await.0;
    let one = |arguments: &str| function_call("call_1", "get_weather", arguments);
    assert_eq!(told_of(call(0, &one(""), &[])).await, "ToolUse |  | call_1 get_weather {}");
    // Two calls whose pieces come in turns.
    let two = function_call("call_2", "home_light", oslo);
    let (first, second) =
        (call(0, &one(oslo), &["{\"city\"", ":\"Oslo\"}"]), call(1, &two, &[oslo]));
    let mut woven = Vec::new();
    for place in 0..first.len().max(second.len()) {
        woven.extend(first.get(place).cloned());
        woven.extend(second.get(place).cloned());
    }
    let both = format!("ToolUse |  | call_1 get_weather {oslo}; call_2 home.light {oslo}");
    assert_eq!(told_of(woven.clone()).await, both);
    // llama.cpp's server sends no indexes.
    let mut unnumbered = woven.clone();
    for event in &mut unnumbered {
        event.as_object_mut().unwrap().shift_remove("output_index");
    }
    assert_eq!(told_of(unnumbered).await, both);
    // Others give an item another id in each event.
    let mut renamed = woven;
    for (place, event) in renamed.iter_mut().enumerate() {
        event["item_id"] = json!(format!("x{place}"));
        if event.get("item").is_some() {
            event["item"]["id"] = json!(format!("y{place}"));
        }
    }
    assert_eq!(told_of(renamed).await, both);
    // Only what is complete, only pieces, only the end.
    assert_eq!(told_of(vec![done(0, &one(oslo)), done(1, &two)]).await, both);
    let pieces = vec![
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "call_1", "name": "get_weather"}}),
        json!({"type": "response.function_call_arguments.delta", "delta": oslo}),
    ];
    assert_eq!(told_of(pieces).await, format!("ToolUse |  | call_1 get_weather {oslo}"));
    let last = events(&[end("completed", Value::Null, &[one(oslo), two.clone()])]);
    let setup = Setup::new(Provider::OpenAiResponses, [last]).await;
    assert_eq!(told(&setup.ask(true).await.unwrap()), both);
    // Ids twice or none, and arguments that are none.
    let mut nameless = one("[1]");
    nameless.as_object_mut().unwrap().shift_remove("call_id");
    let (told, native) = check(
        vec![done(0, &one(oslo)), done(1, &one(oslo)), done(2, &nameless)],
        "completed",
        Value::Null,
    )
    .await;
    assert_eq!(
        told,
        format!(
            "ToolUse |  | call_1 get_weather {oslo}; call_1_1 get_weather {oslo}; call_1_2 get_weather broken [1]"
        )
    );
    assert_eq!(native[2]["arguments"], "{}");
    // A server's own tools are not ours to run, but go back as they came.
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let own = json!({"type": "tool_search_call", "id": "ts_1", "execution": "server", "call_id": null, "arguments": {}});
    let (told, native) =
        check(vec![done(0, &search), done(1, &own)], "completed", Value::Null).await;
    assert_eq!((told, native), ("Answer |  | ".to_owned(), json!([search, own])));
}

// ML-1
#[tokio::test]
async fn endings_are_told_apart() {
    let text = || vec![added(0, &json!({"type": "message", "id": "msg_0"})), text_delta(0, "Hé")];
    for (status, reason, expected) in [
        ("completed", Value::Null, "Answer"),
        ("incomplete", json!("max_output_tokens"), "MaxTokens"),
        ("incomplete", json!("content_filter"), "Refusal"),
        ("incomplete", json!("brand_new"), "brand_new"),
        ("incomplete", Value::Null, "incomplete"),
    ] {
        assert_eq!(check(text(), status, reason).await.0, format!("{expected} | Hé | "));
    }
    // What came of the text goes back, although it has no end.
    let part = json!({"type": "output_text", "text": "Hé", "annotations": []});
    let cut = json!([{"type": "message", "id": "msg_0", "role": "assistant", "content": [part]}]);
    assert_eq!(check(text(), "incomplete", json!("max_output_tokens")).await.1, cut);
    assert_eq!(
        check(Vec::new(), "completed", Value::Null).await,
        ("Answer |  | ".to_owned(), Value::Null)
    );
    let refusal = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "No."});
    let (told_of, native) = check(vec![refusal], "completed", Value::Null).await;
    assert_eq!(told_of, "Refusal | No. | ");
    assert_eq!(native[0]["content"], json!([{"type": "refusal", "refusal": "No."}]));
    let mut whole = message(0, "");
    whole["content"] = json!([{"type": "refusal", "refusal": "No."}]);
    assert_eq!(check(vec![done(0, &whole)], "completed", Value::Null).await.0, "Refusal | No. | ");
    // A comment before the answer is another message.
    let two =
        vec![done(0, &message(0, "I look.")), text_delta(1, "Fine"), done(1, &message(1, "Fine"))];
    assert_eq!(check(two, "completed", Value::Null).await.0, "Answer | I look.\n\nFine | ");
    // llama.cpp's server says `completed` although the limit cut the call.
    let cut = vec![done(0, &function_call("a", "get_weather", "{\"ci"))];
    let change = |config: &mut switchboard_models::ModelConfig| config.max_tokens = Some(5);
    let reply = stream(cut, "completed", Value::Null);
    let setup = Setup::with(Provider::OpenAiResponses, [reply], change).await;
    assert_eq!(
        told(&setup.ask(true).await.unwrap()),
        r#"MaxTokens |  | a get_weather broken {"ci"#
    );
}

// ML-1: reasoning goes back only if it is whole, and if something of the model's follows it.
#[tokio::test]
async fn reasoning_that_cannot_go_back_does_not() {
    let native = async |events: Vec<Value>| check(events, "completed", Value::Null).await.1;
    let said = message(1, "Hi");
    let mut anonymous = said.clone();
    anonymous.as_object_mut().unwrap().shift_remove("id");
    // Its id would be looked up where nothing is stored.
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    assert_eq!(native(vec![done(0, &bare), done(1, &said)]).await, json!([anonymous]));
    assert_eq!(
        native(vec![added(0, &reasoning(&[], "cut")), done(1, &said)]).await,
        json!([anonymous])
    );
    let whole = reasoning(&[], "gAAA");
    assert_eq!(native(vec![done(0, &said), done(1, &whole)]).await, json!([anonymous]));
    assert_eq!(native(vec![done(0, &whole)]).await, Value::Null);
    // An open model's thoughts are not encrypted.
    let open = json!({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "",
        "content": [{"type": "reasoning_text", "text": "Hm"}]});
    let thoughts =
        json!({"type": "response.reasoning_text.delta", "item_id": "rs_2", "delta": "Hm"});
    assert_eq!(native(vec![thoughts, done(0, &open), done(1, &said)]).await, json!([open, said]));
}

// ML-1
#[tokio::test]
async fn answers_in_one_piece() {
    let output = json!([
        reasoning(&["Hm"], "gAAA"),
        message(1, "Ok."),
        function_call("a", "get_weather", "{\"city\":\"Oslo\"}")
    ]);
    let answer = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output,
        "usage": {"input_tokens": 6, "output_tokens": 8}});
    for stream in [false, true] {
        let reply = Reply::json(200, &answer).in_pieces(3);
        let setup = Setup::new(Provider::OpenAiResponses, [reply]).await;
        let (turn, heard) = setup.ask_after(&[Message::User("x".into())], stream).await;
        let turn = turn.unwrap();
        assert_eq!(told(&turn), r#"ToolUse | Ok. | a get_weather {"city":"Oslo"}"#);
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (6, 8));
        assert_eq!(turn.message.native.unwrap().content, output);
        assert!(heard.contains(&ModelEvent::Reasoning("Hm".to_owned())), "{heard:?}");
        assert_eq!(setup.server.captured()[0].path, "/v1/responses");
    }
}

// ML-1, ML-7: errors after the status said success, and streams that just end.
#[tokio::test]
async fn failures_after_success() {
    let check = async |last: Value| {
        let reply = events(&[text_delta(0, "Hi"), last]);
        let setup = Setup::new(Provider::OpenAiResponses, [reply]).await;
        let error = setup.ask(true).await.unwrap_err();
        assert_eq!(setup.server.captured().len(), 1);
        (error.kind, error.message)
    };
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "It is so"});
        json!({"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}})
    };
    for (code, kind) in [
        ("server_error", FailureKind::Server),
        ("rate_limit_exceeded", FailureKind::RateLimited),
        ("server_is_overloaded", FailureKind::Overloaded),
        ("slow_down", FailureKind::Overloaded),
        ("context_length_exceeded", FailureKind::ContextFull),
        ("invalid_prompt", FailureKind::Rejected),
        ("insufficient_quota", FailureKind::Rejected),
        ("bio_policy", FailureKind::Rejected),
    ] {
        let text = format!("the provider failed while it answered: It is so ({code})");
        assert_eq!(check(failed(code)).await, (kind, text));
    }
    let event = json!({"type": "error", "code": "server_error", "message": "Oh", "param": null, "sequence_number": 3});
    assert_eq!(check(event).await.1, "the provider failed while it answered: Oh (server_error)");
    let nested = json!({"type": "error", "error": {"type": "overloaded", "message": "Later"}});
    assert_eq!(check(nested).await.0, FailureKind::Overloaded);
    let silent =
        json!({"type": "response.failed", "response": {"status": "failed", "error": null}});
    assert!(check(silent).await.1.ends_with("it did not say why"));
    assert_eq!(check(text_delta(0, "more")).await.0, FailureKind::Cut);
    // Nothing was shown: asked again.
    let replies = [
        events(&[failed("server_error")]),
        stream(vec![text_delta(0, "Hi")], "completed", Value::Null),
    ];
    let setup = Setup::new(Provider::OpenAiResponses, replies).await;
    assert_eq!(told(&setup.ask(true).await.unwrap()), "Answer | Hi | ");
    let no_output = Reply::json(200, &json!({"object": "list"}));
    let setup = Setup::new(Provider::OpenAiResponses, [no_output]).await;
    assert_eq!(setup.ask(false).await.unwrap_err().kind, FailureKind::Unreadable);
}

// ML-1, ML-5: reasoning and items go back as they came, under the ids that the results name.
#[tokio::test]
async fn openai_sees_its_own_items_again() {
    let (thought, words) = (reasoning(&[], "gAAA"), message(1, "Hm"));
    let one = function_call("a", "home_light", "{ \"n\": 1.0 }");
    let twice = function_call("a", "get_weather", "{\"ci");
    let all = [&thought, &words, &one, &twice];
    let all: Vec<_> =
        all.iter().enumerate().map(|(index, item)| done(index as u64, item)).collect();
    let refusal = Reply::json(400, &json!({"error": "enough"}));
    let replies = [stream(all, "completed", Value::Null), refusal];
    let setup = Setup::new(Provider::OpenAiResponses, replies).await;
    let mut messages = vec![Message::User("Weather?".into())];
    let turn = setup.ask_after(&messages, true).await.0.unwrap();
    let long = "x".repeat(70);
    let ids: Vec<_> = turn.message.tool_calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["a", "call_1_1"]);
    messages.push(Message::Ai(turn.message));
    messages.extend(ids.into_iter().map(|tool_call_id| {
        Message::Tool(ToolReply { content: "ok".to_owned(), tool_call_id, ..ToolReply::default() })
    }));
    messages.push(crate::common::said("", vec![crate::common::call(&long, "get_weather", "{}")]));
    messages.push(Message::Tool(ToolReply { tool_call_id: long, ..ToolReply::default() }));
    // Through a transcript, as a resumed conversation comes.
    let text = serde_json::to_string(&messages).unwrap();
    let messages: Vec<Message> = serde_json::from_str(&text).unwrap();
    setup.ask_after(&messages, true).await.0.unwrap_err();
    let body = setup.server.captured()[1].body.clone();
    assert_eq!(rules::broken("openai-responses", &body), Vec::<String>::new(), "{body:#}");
    let input = body["input"].as_array().unwrap();
    assert_eq!(input[1..4], [thought, words, one]);
    assert_eq!(
        (&input[4]["call_id"], &input[4]["arguments"], &input[4]["id"]),
        (&json!("call_1_1"), &json!("{}"), &json!("fc_a"))
    );
    assert_eq!(input[7]["call_id"], input[8]["call_id"]);
}

// ML-1: models that do not reason reject a request for encrypted reasoning; an answer's schema is sent without tools.
#[tokio::test]
async fn what_the_model_cannot_do_is_not_asked_for() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (model, include) in
        [("gpt-4.1-mini", Value::Null), ("gpt-5.4", json!(["reasoning.encrypted_content"]))]
    {
        let refusal = Reply::json(400, &json!({"error": "enough"}));
        let change = |config: &mut switchboard_models::ModelConfig| config.model = model.to_owned();
        let setup = Setup::with(Provider::OpenAiResponses, [refusal], change).await;
        let messages = [Message::User("x".into())];
        let mut request = switchboard_models::Request::new(&messages);
        request.answer_schema = Some(&schema);
        setup.model.ask(&request, &|_| {}).await.unwrap_err();
        let body = &setup.server.captured()[0].body;
        assert_eq!(body["include"], include);
        let format =
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false});
        assert_eq!(body["text"], json!({"format": format}));
    }
}
