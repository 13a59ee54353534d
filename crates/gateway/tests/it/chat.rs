//! Chat completions: what clients of OpenAI's wire see (SPEC §13).

use std::num::NonZeroU32;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_agent::Config as Loop;
use switchboard_gateway::Config;
use switchboard_models::{Message, ToolChoice};
use switchboard_testkit::{ModelRequest, until_some};

use crate::{TestGateway, answer, life::until_seen};

impl TestGateway {
    fn complete(&self, body: &Value) -> RequestBuilder {
        self.client.post(self.url("/v1/chat/completions")).json(body)
    }

    /// The user says one thing.
    fn chat(&self, text: &str, more: &Value) -> RequestBuilder {
        let mut body = json!({"model": "parrot", "messages": [{"role": "user", "content": text}]});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        self.complete(&body)
    }

    fn last_asked(&self) -> ModelRequest {
        self.parrot.asked().pop().unwrap()
    }
}

/// The data of every event and every comment, in order.
async fn events(request: RequestBuilder) -> Vec<String> {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    text.split("\n\n").map(str::trim).filter(|event| !event.is_empty()).map(str::to_owned).collect()
}

/// The chunks, without their data prefix; comments left out.
fn chunks(events: &[String]) -> Vec<Value> {
    let data = events.iter().filter_map(|event| event.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn text_of(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
}

fn their_tools() -> Value {
    let function = json!({"name": "get_weather", "parameters": {"type": "object"}});
    json!([{"type": "function", "function": function}])
}

// GW-1, ML-7
#[tokio::test]
async fn an_answer_comes_with_its_tools_run_here() {
    let gateway = TestGateway::start().await;
    let (status, body) =
        answer(gateway.chat("call echo {\"a\":1.50}", &json!({"user": "u1"}))).await;
    assert_eq!(status, 200, "{body}");
    let choice = &body["choices"][0];
    let message = json!({"role": "assistant", "content": "I heard {\"a\":1.50}", "refusal": null});
    assert_eq!((&choice["message"], &choice["finish_reason"]), (&message, &json!("stop")));
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30});
    assert_eq!((&body["usage"], &body["object"]), (&usage, &json!("chat.completion")));
    assert_eq!(body["model"], "parrot");
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let calls = gateway.executor.history().recent(1).await.unwrap();
    assert_eq!(
        (&*calls[0].start.tool, calls[0].start.conversation.as_deref()),
        ("echo", Some("u1"))
    );
}

// GW-1
#[tokio::test]
async fn an_answer_comes_in_chunks() {
    let gateway = TestGateway::start().await;
    let stream = json!({"stream": true, "stream_options": {"include_usage": true}});
    let events = events(gateway.chat("say Let me see\ncall echo {}\nthen", &stream)).await;
    assert_eq!(events.last().map(String::as_str), Some("data: [DONE]"));
    assert!(events.contains(&": echo runs".to_owned()), "{events:?}");
    let chunks = chunks(&events);
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(text_of(&chunks), "Let me see\n\nI heard {}");
    let [.., end, cost] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!((&cost["choices"], &cost["usage"]["total_tokens"]), (&json!([]), &json!(30)));
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"]));
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
}

// GW-1: for clients that show the calls as they happen.
#[tokio::test]
async fn the_loops_calls_come_as_events_where_they_are_asked_for() {
    let gateway = TestGateway::recording().await;
    let stream = json!({"stream": true, "stream_options": {"include_calls": true}});
    let text = "say Let me see\ncall echo {\"a\":1}\ncall fails {}\nthen";
    let events = events(gateway.chat(text, &stream)).await;
    assert_eq!(text_of(&chunks(&events)), "Let me see\n\nI heard {\"a\":1} and Error: no luck");
    let told = |name: &str| -> Vec<Value> {
        let prefix = format!("event: {name}\ndata: ");
        let data = events.iter().filter_map(|event| event.strip_prefix(prefix.as_str()));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    };
    let (begun, ended) = (told("call_started"), told("call_ended"));
    assert_eq!((begun.len(), ended.len()), (2, 2), "{events:?}");
    assert_eq!((&begun[0]["tool"], &begun[0]["arguments"]), (&json!("echo"), &json!({"a": 1})));
    let echo = ended.iter().find(|call| call["tool"] == "echo").unwrap();
    assert_eq!((&echo["id"], &echo["outcome"]), (&begun[0]["id"], &json!("ok")));
    assert!(echo["duration_ms"].is_number() && echo["content"].is_string());
    let path = format!("/api/calls/{}", echo["call_id"].as_str().unwrap());
    assert_eq!(answer(gateway.get(&path)).await.1["tool"], "echo");
    let fails = ended.iter().find(|call| call["tool"] == "fails").unwrap();
    assert_eq!(fails["outcome"], "tool_error");
    assert!(!events.iter().any(|event| event.starts_with(':')), "no comments beside: {events:?}");
}

// GW-1: a turn that mixes ours and theirs.
#[tokio::test]
async fn a_clients_own_calls_come_back_and_ours_are_kept() {
    let gateway = TestGateway::start().await;
    let text = "call echo {\"n\":0}\nthen\nsay One moment\ncall get_weather {\"city\":\"Oslo\"}\ncall echo {\"n\":1}";
    let tools = json!({"tools": their_tools()});
    let (_, whole) = answer(gateway.chat(text, &tools)).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls", "{whole}");
    assert_eq!(message["content"], "One moment");
    let call = &message["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert_eq!(
        call["function"],
        json!({"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"})
    );
    assert_eq!(message["tool_calls"].as_array().map(Vec::len), Some(1));
    assert_eq!(whole["usage"]["total_tokens"], 30);

    let reply = json!({"role": "tool", "tool_call_id": call["id"], "content": "rain"});
    let user = json!({"role": "user", "content": text});
    let messages = json!([user, message, reply]);
    let (_, body) =
        answer(gateway.chat("", &json!({"messages": messages, "tools": their_tools()}))).await;
    assert_eq!(body["choices"][0]["message"]["content"], "I heard rain and {\"n\":1}", "{body}");
    let seen = gateway.last_asked().messages;
    assert_eq!(seen.len(), 6, "user, call, reply, calls and two replies: {seen:?}");
    let calls = gateway.executor.history().recent(9).await.unwrap();
    assert_eq!(calls.len(), 2, "ours ran once each, theirs never");

    // Another caller that knows the id gets nothing of it.
    let token = gateway.token("other", &["*"]);
    let other = gateway.chat("", &json!({"messages": messages})).bearer_auth(token);
    assert_eq!(answer(other).await.0, 200);
    assert_eq!(gateway.parrot.asked()[3].messages.len(), 3);
}

#[tokio::test]
async fn a_clients_own_calls_come_in_chunks() {
    let gateway = TestGateway::start().await;
    let text = "call get_weather {\"a\":1}\ncall get_weather {\"a\":";
    let events = events(gateway.chat(text, &json!({"stream": true, "tools": their_tools()}))).await;
    let chunks = chunks(&events);
    let calls =
        chunks.iter().find_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array());
    let calls = calls.unwrap();
    assert_eq!((&calls[0]["index"], &calls[1]["index"]), (&json!(0), &json!(1)));
    assert_eq!(calls[1]["function"]["arguments"], "{\"a\":", "as the model wrote it");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn the_end_says_why() {
    let gateway = TestGateway::start().await;
    let cases = [
        ("say All", "All", "stop"),
        ("say Hal\ncut", "Hal", "length"),
        ("say No\nrefuse", "No", "content_filter"),
        ("say No\nrefuse\ncall echo {}", "No", "content_filter"),
    ];
    for (text, content, finish) in cases {
        let (_, body) = answer(gateway.chat(text, &json!({}))).await;
        let choice = &body["choices"][0];
        assert_eq!(
            (&choice["message"]["content"], &choice["finish_reason"]),
            (&json!(content), &json!(finish))
        );
        let events = events(gateway.chat(text, &json!({"stream": true}))).await;
        let chunks = chunks(&events);
        assert_eq!(
            (text_of(&chunks).as_str(), &chunks.last().unwrap()["choices"][0]["finish_reason"]),
            (content, &json!(finish))
        );
    }
    assert!(
        gateway.executor.history().recent(9).await.unwrap().iter().all(|call| call.end.is_some())
    );
}

// GW-2, ML-9
#[tokio::test]
async fn tools_are_those_of_token_and_model() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("agent", &["echo", "weather"]);
    let shy = json!({"model": "shy"});
    assert_eq!(answer(gateway.chat("hi", &shy)).await.0, 200);
    assert_eq!(gateway.last_asked().tools, ["echo", "wait"]);
    let text = "call weather {\"city\":\"Oslo\"}\ncall wait {}\ncall echo {}";
    let (_, body) = answer(gateway.chat(text, &shy).bearer_auth(&token)).await;
    assert_eq!(gateway.last_asked().tools, ["echo"]);
    let heard = body["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(heard.contains("Unknown tool \"weather\"") && heard.ends_with("and {}"), "{heard}");
    assert!(gateway.witness.seen().is_empty());
    // The client's own tool wins over ours of the same name.
    let own = json!([{"type": "function", "function": {"name": "echo"}}]);
    let (_, body) = answer(gateway.chat("call echo {}", &json!({"tools": own}))).await;
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn what_a_client_wishes_reaches_the_model() {
    let gateway = TestGateway::start().await;
    let one = json!({"type": "function", "function": {"name": "get_weather"}});
    let cases = [
        (json!({"max_tokens": 7, "temperature": 0.5}), Some(7), Some(0.5), ToolChoice::Auto),
        (json!({"max_tokens": 7, "max_completion_tokens": 8}), Some(8), None, ToolChoice::Auto),
        (json!({"tool_choice": "none", "logprobs": true}), None, None, ToolChoice::Never),
        (json!({"tool_choice": "required", "stream": null}), None, None, ToolChoice::Any),
        (
            json!({"tool_choice": one, "tools": their_tools()}),
            None,
            None,
            ToolChoice::One("get_weather".to_owned()),
        ),
    ];
    for (more, max_tokens, temperature, choice) in cases {
        let (status, body) = answer(gateway.chat("hi", &more)).await;
        assert_eq!(status, 200, "{body}");
        let asked = gateway.last_asked();
        assert_eq!(
            (asked.max_tokens, asked.temperature, asked.choice),
            (max_tokens, temperature, choice)
        );
    }
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let messages = json!([
        {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief"}]},
        {"role": "assistant", "content": "Hello, I speak first"},
        {"role": "user", "content": "What?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "7"}]},
        {"role": "user", "content": [{"type": "text", "text": "This"}, image]},
    ]);
    let (_, body) = answer(gateway.chat("", &json!({"messages": messages}))).await;
    assert_eq!(body["choices"][0]["message"]["content"], "I heard This with 1 images", "{body}");
    let seen = gateway.last_asked().messages;
    assert_eq!(seen[0], Message::System("Be\nbrief".to_owned()));
    assert_eq!(seen.len(), 5);
}

// GW-1
#[tokio::test]
async fn wrong_requests_name_the_field() {
    let gateway = TestGateway::start().await;
    let tool = |function: Value| json!({"tools": [{"type": "function", "function": function}]});
    let says = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let cases = [
        (json!({"messages": null}), 400, "messages", None),
        (json!({"messages": []}), 400, "messages", None),
        (json!({"messages": [{"role": "assistant", "content": "x"}]}), 400, "messages", None),
        (json!({"messages": [{"role": "cat", "content": "x"}]}), 400, "messages[0].role", None),
        (json!({"messages": [{"role": "user"}]}), 400, "messages[0].content", None),
        (
            json!({"messages": [{"role": "tool", "content": "x"}]}),
            400,
            "messages[0].tool_call_id",
            None,
        ),
        (says(json!(7)), 400, "messages[0].content", None),
        (says(json!([{"type": "input_audio"}])), 400, "messages[0].content[0].type", None),
        (says(json!([{"type": "text"}])), 400, "messages[0].content[0].text", None),
        (
            says(json!([{"type": "image_url", "image_url": {"url": "https://x.y/z.png"}}])),
            400,
            "messages[0].content[0].image_url.url",
            None,
        ),
        (json!({"n": 2}), 400, "n", None),
        (json!({"temperature": 3}), 400, "temperature", None),
        (json!({"max_tokens": 0}), 400, "max_tokens", None),
        (json!({"stream": "yes"}), 400, "stream", None),
        (json!({"tool_choice": "maybe"}), 400, "tool_choice", None),
        (json!({"tool_choice": {"type": "allowed_tools"}}), 400, "tool_choice", None),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "nobody"}}}),
            400,
            "tool_choice.function.name",
            None,
        ),
        (tool(json!({"name": "a b"})), 400, "tools[0].function.name", None),
        (tool(json!({"name": "f", "parameters": 7})), 400, "tools[0].function.parameters", None),
        (json!({"tools": [{"type": "custom"}]}), 400, "tools[0].type", None),
        (json!({"model": "gpt-9"}), 404, "model", Some("model_not_found")),
    ];
    for (more, status, param, code) in cases {
        let (seen, body) = answer(gateway.chat("hi", &more)).await;
        let error = &body["error"];
        assert_eq!(
            (seen, &error["param"], &error["code"]),
            (status, &json!(param), &json!(code)),
            "{body}"
        );
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().len() > 10, "{body}");
    }
    assert!(gateway.parrot.asked().is_empty(), "nobody was asked");
}

/// The status, the type and the code of a failure.
async fn failure(request: RequestBuilder) -> (u16, String, Value) {
    let (status, body) = answer(request).await;
    let error = &body["error"];
    assert!(error["message"].is_string(), "{body}");
    (status, error["type"].as_str().unwrap().to_owned(), error["code"].clone())
}

fn failed(status: u16, kind: &str, code: impl Into<Value>) -> (u16, String, Value) {
    (status, kind.to_owned(), code.into())
}

// GW-2
#[tokio::test]
async fn every_failure_has_the_wires_shape() {
    let gateway = TestGateway::start().await;
    let post =
        |body: &'static str| gateway.client.post(gateway.url("/v1/chat/completions")).body(body);
    let wrong = "invalid_request_error";
    let nothing = Value::Null;
    gateway.token("somebody", &["*"]);
    let stranger = gateway.chat("hi", &json!({})).bearer_auth("sb_none");
    assert_eq!(failure(stranger).await, failed(401, "authentication_error", "invalid_api_key"));
    let foreign = gateway.get("/v1/models").header("Origin", "https://evil.example");
    assert_eq!(failure(foreign).await, failed(403, "permission_error", nothing.clone()));
    assert_eq!(failure(post("{")).await, failed(400, wrong, nothing.clone()));
    assert_eq!(failure(post("[]")).await, failed(400, wrong, nothing.clone()));
    assert_eq!(
        failure(gateway.get("/v1/chat/completions")).await,
        failed(405, wrong, nothing.clone())
    );
    assert_eq!(failure(gateway.get("/v1/embeddings")).await, failed(404, wrong, nothing));
    assert_eq!(
        failure(gateway.get("/v1/models/nobody")).await,
        failed(404, wrong, "model_not_found")
    );
    let keyless = gateway.chat("hi", &json!({"model": "keyless"}));
    assert_eq!(failure(keyless).await, failed(500, "server_error", "model_not_ready"));
    let large = gateway.chat(&"x".repeat(5 << 20), &json!({}));
    assert_eq!(answer(large).await.0, 413);
    for stream in [false, true] {
        let fails = gateway.chat("fail", &json!({"stream": stream}));
        let response = fails.send().await.unwrap();
        assert!(response.headers().get("x-should-retry").is_none(), "nothing was done yet");
        assert_eq!(response.status(), 502, "also where chunks were wanted: none was sent");
    }
    let acted = gateway.chat("call echo {}\nthen\nfail", &json!({})).send().await.unwrap();
    assert_eq!(
        (acted.status().as_u16(), &acted.headers()["x-should-retry"]),
        (502, &"false".parse().unwrap())
    );
}

#[tokio::test]
async fn a_failure_after_the_head_is_told_in_the_stream() {
    let gateway = TestGateway::start().await;
    let text = "say Well\ncall echo {}\nthen\nfail";
    let events = events(gateway.chat(text, &json!({"stream": true}))).await;
    let last: Value =
        serde_json::from_str(events.last().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    let error = json!({"message": "it burns", "type": "server_error", "param": null, "code": "provider_failed"});
    assert_eq!(last["error"], error);
    assert_eq!(text_of(&chunks(&events)), "Well");
}

// ML-4: the loop's limits hold.
#[tokio::test]
async fn a_loop_without_an_end_is_a_failure() {
    let again = "call echo {}\nthen\n".repeat(9);
    let gateway = TestGateway::start().await;
    let repeats = failure(gateway.chat(&again, &json!({}))).await;
    assert_eq!(repeats, failed(502, "server_error", "repeated_calls"));
    let limits: [(Loop, &str, u16, &str); 3] = [
        (
            Loop { max_iterations: NonZeroU32::MIN, ..Loop::default() },
            "call echo {}",
            502,
            "max_iterations",
        ),
        (
            Loop { token_budget: Some(1), ..Loop::default() },
            "call echo {}",
            502,
            "token_budget_spent",
        ),
        (
            Loop { time_budget: Some("50ms".parse().unwrap()), ..Loop::default() },
            "call wait {\"secs\":60}",
            504,
            "time_budget_spent",
        ),
    ];
    for (limits, text, status, code) in limits {
        let gateway = TestGateway::looping(Config::default(), limits).await;
        let seen = failure(gateway.chat(text, &json!({}))).await;
        assert_eq!(seen, failed(status, "server_error", code));
    }
}

// EX-4
#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_turn() {
    for stream in [false, true] {
        let gateway = TestGateway::start().await;
        let text = "say Wait\ncall wait {\"secs\":60}";
        let request = gateway.chat(text, &json!({"stream": stream}));
        let call = tokio::spawn(async move {
            let mut response = request.send().await.unwrap();
            while response.chunk().await.unwrap().is_some() {}
        });
        until_seen(&gateway, "begun").await;
        call.abort();
        until_seen(&gateway, "dropped and told").await;
        let end = async || gateway.executor.history().recent(1).await.unwrap()[0].end;
        let (kind, _) = until_some(end).await;
        assert_eq!(kind.map(switchboard_toolcall::ErrorKind::code), Some("cancelled"));
    }
}

// GW-4
#[tokio::test]
async fn what_does_not_finish_in_time_is_cancelled_and_recorded() {
    let drain = "50ms".parse().unwrap();
    let mut gateway = TestGateway::configured(Config { drain, ..Config::default() }).await;
    let text = "say Wait\ncall wait {\"secs\":60}";
    let request = gateway.chat(text, &json!({"stream": true}));
    let call = tokio::spawn(async move { request.send().await?.text().await });
    until_seen(&gateway, "begun").await;
    gateway.stop.cancel();
    gateway.running.take().unwrap().await.unwrap();
    let calls = gateway.executor.history().recent(1).await.unwrap();
    let (kind, _) = calls[0].end.expect("its record is closed");
    assert_eq!(kind.map(switchboard_toolcall::ErrorKind::code), Some("cancelled"));
    assert!(call.await.unwrap().is_err());
}

// GW-1
#[tokio::test]
async fn models_are_listed_in_order() {
    let gateway = TestGateway::start().await;
    let (_, list) = answer(gateway.get("/v1/models")).await;
    let names: Vec<_> = list["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(names, ["parrot", "shy", "priced", "keyless"]);
    let (_, one) = answer(gateway.get("/v1/models/shy")).await;
    assert_eq!((&one["id"], &one["object"]), (&json!("shy"), &json!("model")));
}
