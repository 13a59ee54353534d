//! OpenAI's models that search: the search is the API's own kind of tool, run here, and its result defines what was found
//! (SPEC FT-3).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation, RequestOptions};
use switchboard_models::{ModelConfig, Provider, ToolChoice, connect};
use switchboard_testkit::{ProviderServer, Reply, rules};
use switchboard_toolcall::{CallContext, ToolPatterns};

use crate::deferring::{LAMP, WEATHER, executor};

/// A stream of these items, as OpenAI sends them, each behind reasoning.
fn stream(items: &[Value]) -> Reply {
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"});
    let all = [&[thought], items].concat();
    let mut events =
        vec![json!({"type": "response.created", "response": {"status": "in_progress"}})];
    for (index, item) in all.iter().enumerate() {
        let mut start = item.clone();
        if item["type"] == "function_call" {
            start["arguments"] = json!("");
        }
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": start}),
        );
        if item["type"] == "function_call" {
            events.push(json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": item["arguments"]}));
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let usage = json!({"input_tokens": 12, "output_tokens": 9});
    events.push(json!({"type": "response.completed",
        "response": {"status": "completed", "output": all, "usage": usage}}));
    let named = |event: &Value| {
        format!("event: {}\ndata: {event}", event["type"].as_str().unwrap_or_default())
    };
    Reply::events(&events.iter().map(named).collect::<Vec<_>>())
}

fn search(id: &str, query: &str, limit: usize) -> Reply {
    let arguments = json!({"query": query, "limit": limit});
    stream(&[json!({"type": "tool_search_call", "id": format!("tsc_{id}"), "execution": "client",
        "call_id": id, "status": "completed", "arguments": arguments})])
}

/// A call; one of a tool that a search defined names it as its namespace.
fn call(id: &str, name: &str, arguments: Value, is_found: bool) -> Reply {
    let mut item = json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "status": "completed", "arguments": arguments.to_string()});
    if is_found {
        item["namespace"] = json!(name);
    }
    stream(&[item])
}

fn says(text: &str) -> Reply {
    stream(&[json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})])
}

/// What OpenAI was sent, request by request; each body is one that it takes, and begins as the one before did.
async fn sent(replies: Vec<Reply>, change: impl FnOnce(Agent) -> Agent) -> Vec<Value> {
    let server = ProviderServer::start(replies).await;
    let mut config = ModelConfig::new(Provider::OpenAiResponses, "gpt-5.4");
    config.base_url = Some(format!("{}/v1", server.url()));
    config.deferral = Some(true);
    let settings: Config = toml::from_str("tool_budget = 300").unwrap();
    let agent = change(Agent::new(connect(&config).unwrap(), executor(), settings));
    let mut conversation = Conversation::with_system("Be brief.");
    conversation.say("Go");
    let outcome =
        agent.run(&mut conversation, &(Arc::new(|_| ()) as _), &CallContext::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."), "{:?}", outcome.error);
    let bodies: Vec<_> = server.captured().into_iter().map(|captured| captured.body).collect();
    for body in &bodies {
        assert_eq!(rules::broken("openai-responses", body), Vec::<String>::new(), "{body:#}");
    }
    for pair in bodies.windows(2) {
        let items = |body: &Value, key: &str| body[key].as_array().unwrap().clone();
        for key in ["tools", "input"] {
            assert!(items(&pair[1], key).starts_with(&items(&pair[0], key)), "{pair:#?}");
        }
    }
    bodies
}

/// The tools that are defined before the conversation, and those that searches define in it.
fn tools(body: &Value) -> (Vec<&str>, Vec<&str>) {
    fn names(tools: &Value) -> impl Iterator<Item = &str> {
        let tools = tools.as_array().into_iter().flatten();
        tools.map(|tool| tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default())
    }
    let input = body["input"].as_array().unwrap().iter();
    (names(&body["tools"]).collect(), input.flat_map(|item| names(&item["tools"])).collect())
}

// FT-3: what a search finds is defined by its result; what precedes the conversation stays as it was.
#[tokio::test]
async fn found_definitions_come_with_the_search() {
    let replies = vec![
        search("s1", "weather tomorrow", 1),
        call("c1", WEATHER, json!({"city": "Graz"}), true),
        search("s2", "turn the lamp on", 1),
        call("c2", "lamp_switch_on", json!({}), true),
        says("Done."),
    ];
    let sent = sent(replies, |agent| agent).await;
    let first = vec!["tool_search", "read_result"];
    assert_eq!(tools(&sent[0]), (first.clone(), vec![]));
    assert_eq!(tools(&sent[4]), (first, vec![WEATHER, "lamp_switch_on"]));
    let search = &sent[0]["tools"][0];
    assert_eq!((&search["type"], &search["execution"]), (&json!("tool_search"), &json!("client")));
    assert_eq!(search["parameters"]["properties"]["query"]["type"], "string", "{search}");
    let input = sent[4]["input"].as_array().unwrap();
    let kinds: Vec<_> =
        input.iter().map(|item| item["type"].as_str().unwrap_or("message")).collect();
    let turn = |call, output| ["reasoning", call, output];
    let searched = turn("tool_search_call", "tool_search_output");
    let called = turn("function_call", "function_call_output");
    let all = [&["message"; 2][..], &searched, &called, &searched, &called].concat();
    assert_eq!(kinds, all, "the text of a search is left out if its tools say all");
    assert_eq!(input[7]["output"], r#"{"city":"Graz"}"#);
}

// FT-3: a tool that was called, or demanded, before it was found is offered as any other, also after a search finds it.
#[tokio::test]
async fn what_was_called_before_it_was_found_is_not_deferred() {
    let replies = vec![
        call("c1", WEATHER, json!({}), false),
        search("s1", "weather or a lamp that is turned on", 2),
        says("Done."),
    ];
    let sent = sent(replies, |agent| {
        let choice = ToolChoice::One(WEATHER.to_owned());
        agent.with_options(RequestOptions { choice, ..RequestOptions::default() })
    })
    .await;
    let first = vec!["tool_search", "read_result", WEATHER];
    assert_eq!(tools(&sent[0]), (first.clone(), vec![]));
    assert_eq!(tools(&sent[2]), (first, vec!["lamp_switch_on"]));
    // What the result has no field for is said behind it.
    let note = sent[2]["input"].as_array().unwrap().last().unwrap();
    let text = note["content"].as_str().unwrap();
    assert!(text.contains(WEATHER) && text.contains(LAMP), "{text}");
}

// FT-3: what the model may not call, or policy denies, is neither defined nor named.
#[tokio::test]
async fn nothing_hidden_is_defined() {
    let replies = vec![search("s1", "weather tomorrow", 100), says("Done.")];
    let offered = ToolPatterns::new(&["archive__*", "mine__*"]).unwrap();
    let sent = sent(replies, |agent| agent.offering(offered)).await;
    let told = sent[1].to_string();
    assert!(!told.contains(WEATHER) && !told.contains("mine__weather"), "{told}");
}

// FT-3: a search that finds nothing says so, and one with wrong arguments why.
#[tokio::test]
async fn a_search_without_tools_is_explained() {
    let wrong = json!({"type": "tool_search_call", "execution": "client", "call_id": "s2", "arguments": {"limit": 1}});
    let replies = vec![search("s1", "xyzzy qwrtz", 1), stream(&[wrong]), says("Done.")];
    let sent = sent(replies, |agent| agent).await;
    let input = sent[2]["input"].as_array().unwrap();
    let notes: Vec<_> = input.iter().skip(2).filter(|item| item["role"] == "user").collect();
    let texts: Vec<_> = notes.iter().map(|note| note["content"].as_str().unwrap()).collect();
    assert!(texts.len() == 2 && texts[1].contains("query"), "{texts:?}");
    assert!(texts[1].contains("Error: "), "{texts:?}");
}
