//! The view with search: a few tools that find and call the others.

use std::{collections::HashMap, time::Duration};

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, DiscoveryMode, McpBody, McpCaller};
use switchboard_runtime::{
    ServerSettings, ToolExecutor, services,
    tool_cost::ToolCosts,
    toolcall::{ErrorKind, ToolPatterns},
};
use switchboard_testkit::{recorded_tools, tools::Fake};
use tokio::time::{sleep, timeout};

use crate::test_server::{TestResponse, TestServer, events, in_session, sees};

const FACE: [&str; 4] = ["tool_search", "tool_call", "tool_call_read_only", "read_result"];

/// A server whose clients search, with the runtime's own tools and one that only looks.
fn searching(pinned: &[&str]) -> TestServer {
    let pinned = ToolPatterns::new(pinned).unwrap();
    let config = Config { discovery: DiscoveryMode::Search, pinned, ..Config::default() };
    let executor = ToolExecutor::default();
    for service in services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    executor.tools().add(Fake::echoes("look").read_only()).unwrap();
    TestServer::around(executor, None, config)
}

/// What `caller` is answered, in the modern way.
async fn ask(test: &TestServer, method: &str, params: Value, caller: &McpCaller) -> Value {
    TestResponse::of(test.begin_alone(method, params, caller).await).await.last()
}

async fn listed(test: &TestServer, caller: &McpCaller) -> Vec<String> {
    let list = ask(test, "tools/list", json!({}), caller).await;
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn call(test: &TestServer, tool: &str, args: Value, caller: &McpCaller) -> Value {
    ask(test, "tools/call", json!({"name": tool, "arguments": args}), caller).await
}

/// The calls that were recorded, the oldest first: name, and how each ended.
async fn recorded(test: &TestServer) -> Vec<(String, Option<ErrorKind>)> {
    let calls = test.executor.history().recent(100).await.unwrap();
    let call = |call: &switchboard_runtime::RecordedCall| {
        (call.start.tool.to_string(), call.end.and_then(|(kind, _)| kind))
    };
    calls.iter().rev().map(call).collect()
}

// FT-2
#[tokio::test]
async fn only_the_face_and_the_pinned_tools_are_listed() {
    let test = searching(&["s*y", "tool_*"]);
    let everybody = McpCaller::default();
    let with_pinned: Vec<_> = FACE.into_iter().chain(["say"]).collect();
    assert_eq!(listed(&test, &everybody).await, with_pinned);
    // A caller sees the view, whatever its globs; of the pinned tools, those that it may see.
    assert_eq!(listed(&test, &sees("echo")).await, FACE);
    // The client's own choice comes first.
    let listing = McpCaller { discovery: Some(DiscoveryMode::List), ..McpCaller::default() };
    assert!(listed(&test, &listing).await.contains(&"echo".to_owned()));
    let plain = TestServer::new();
    let asking = McpCaller { discovery: Some(DiscoveryMode::Search), ..McpCaller::default() };
    assert_eq!(listed(&plain, &asking).await, ["tool_call", "tool_call_read_only"]);
    let session = test.session().await;
    let list = test.ask(&session, "tools/list", json!({})).await.last();
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!(tools[2]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["name"]));
}

// FT-2
#[tokio::test]
async fn a_call_through_the_face_is_a_call_of_the_tool() {
    let test = searching(&[]);
    let everybody = McpCaller::default();
    let found = call(&test, "tool_search", json!({"query": "echo a text"}), &everybody).await;
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    let found: Value = serde_json::from_str(text).unwrap();
    assert_eq!(found["tools"][0]["name"], "echo");
    let args = json!({"name": "echo", "arguments": {"text": "hi"}});
    let echoed = call(&test, "tool_call", args, &everybody).await;
    assert_eq!(echoed["result"]["content"][0]["text"], r#"{"text":"hi"}"#, "{echoed}");
    // Arguments as text, as small models write them.
    let args = json!({"name": "echo", "arguments": "{\"text\":\"hi\"}"});
    let echoed = call(&test, "tool_call", args, &everybody).await;
    assert_eq!(echoed["result"]["content"][0]["text"], r#"{"text":"hi"}"#, "{echoed}");
    // A tool that is not listed, called by its name.
    let said = call(&test, "say", json!({}), &everybody).await;
    assert_eq!(said["result"]["content"][0]["text"], "hello");
    let names: Vec<_> = recorded(&test).await.into_iter().map(|call| call.0).collect();
    assert_eq!(names, ["tool_search", "echo", "echo", "say"]);
}

// FT-2
#[tokio::test]
async fn the_read_only_call_refuses_what_may_change_things() {
    let test = searching(&[]);
    let everybody = McpCaller::default();
    let looked = call(&test, "tool_call_read_only", json!({"name": "look"}), &everybody).await;
    assert_ne!(looked["result"]["isError"], true, "{looked}");
    let refused = call(&test, "tool_call_read_only", json!({"name": "say"}), &everybody).await;
    assert_eq!(refused["result"]["isError"], true);
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("not annotated as read-only"), "{text}");
    let expected = [("look", None), ("say", Some(ErrorKind::Denied))];
    assert_eq!(recorded(&test).await, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

// FT-2
#[tokio::test]
async fn wrong_arguments_are_answered_with_the_schema() {
    let test = searching(&[]);
    let everybody = McpCaller::default();
    let args = json!({"name": "echo", "arguments": {"text": 1}});
    let wrong = call(&test, "tool_call", args, &everybody).await;
    assert_eq!(wrong["result"]["isError"], true);
    let text = wrong["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Invalid parameters: 'text'"), "{text}");
    assert!(text.contains(r#"'echo': {"type":"object","properties":{"text""#), "{text}");
}

// FT-2: wrong calls of the view itself are results that a model reads, and are recorded.
#[tokio::test]
async fn a_call_that_names_no_tool_is_refused() {
    let test = searching(&[]);
    let everybody = McpCaller::default();
    for (args, expected) in [
        (json!({}), "'name' must be the name of a tool"),
        (json!({"name": 5}), "'name' must be the name of a tool"),
        (json!({"name": "tool_call"}), "tool_call is called by itself"),
        (json!({"name": "tool_search"}), "tool_search is called by itself"),
        (json!({"name": "say", "arguments": [1]}), "'arguments' must be an object"),
        (json!({"name": "say", "arguments": "oh"}), "'arguments' must be an object"),
        (json!({"name": "sai"}), "sai"),
    ] {
        let refused = call(&test, "tool_call", args, &everybody).await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(expected), "{text}");
    }
    let records = recorded(&test).await;
    let last = ("sai".to_owned(), Some(ErrorKind::NotFound));
    assert_eq!(records.last(), Some(&last));
    let own = ("tool_call".to_owned(), Some(ErrorKind::InvalidParameters));
    assert!(records[..6].iter().all(|record| *record == own), "{records:?}");
    // Without search there is no such tool.
    let plain = call(&TestServer::new(), "tool_call", json!({"name": "say"}), &everybody).await;
    assert_eq!(plain["error"]["code"], -32602, "{plain}");
}

// FT-2: a token's globs limit what the view reaches.
#[tokio::test]
async fn the_face_reaches_only_what_the_caller_may_see() {
    let test = searching(&["*"]);
    let restricted = sees("say");
    let query = json!({"query": "say echo wait look search read result", "limit": 100});
    let found = call(&test, "tool_search", query, &restricted).await;
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    let found: Value = serde_json::from_str(text).unwrap();
    let names: Vec<_> = found["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["say"]);
    let said = call(&test, "tool_call", json!({"name": "say"}), &restricted).await;
    assert_eq!(said["result"]["content"][0]["text"], "hello");
    // Hidden tools and unknown ones cannot be told apart, nor is a hidden schema told.
    let hidden = call(&test, "tool_call", json!({"name": "echo"}), &restricted).await;
    let unknown = call(&test, "tool_call", json!({"name": "ecco"}), &restricted).await;
    assert_eq!(hidden.to_string().replace("echo", "ecco"), unknown.to_string());
    // Services that the view does not have stay hidden.
    let history = call(&test, "call_history", json!({}), &restricted).await;
    assert_eq!(history["error"]["code"], -32602, "{history}");
    let listed = listed(&test, &restricted).await;
    assert_eq!(listed, [&FACE[..], &["say"]].concat());
}

// FT-2
#[tokio::test]
async fn instructions_say_that_there_are_more_tools() {
    let test = searching(&[]);
    let discovered = ask(&test, "server/discover", json!({}), &McpCaller::default()).await;
    let text = discovered["result"]["instructions"].as_str().unwrap();
    assert!(text.contains("Find them with tool_search"), "{text}");
    let plain = TestServer::new().alone("server/discover", json!({})).await.last();
    assert_eq!(plain["result"]["instructions"], Value::Null);
}

/// The tokens of these texts, as those of a definition are counted.
fn tokens(texts: &[String]) -> usize {
    let executor = ToolExecutor::default();
    for (number, text) in texts.iter().enumerate() {
        let fake = Fake::echoes(&format!("text_{number}"));
        executor.tools().add(fake.with(|spec| text.clone_into(&mut spec.description))).unwrap();
    }
    ToolCosts::count(&executor.tools().listed(), &HashMap::new()).total_tokens
}

/// What a client reads before its first question: the entries of `tools/list`, and the instructions.
async fn first_texts(test: &TestServer) -> (Vec<String>, String) {
    let everybody = McpCaller::default();
    let list = ask(test, "tools/list", json!({}), &everybody).await;
    let entries = list["result"]["tools"].as_array().unwrap().iter().map(Value::to_string);
    let discovered = ask(test, "server/discover", json!({}), &everybody).await;
    let instructions = discovered["result"]["instructions"].as_str().unwrap().to_owned();
    (entries.collect(), instructions)
}

// FT-2: however many tools there are, a client begins with less than 2,000 tokens.
#[tokio::test]
async fn a_client_begins_with_few_tokens_however_many_tools_there_are() {
    let test = searching(&[]);
    let servers = recorded_tools();
    assert!(servers.len() > 25, "not all can be named");
    for (server, tools) in servers {
        test.executor.tools().add_server(&server, ServerSettings::default()).unwrap();
        assert!(test.executor.tools().set_server_tools(&server, tools).is_empty(), "{server}");
    }
    let (entries, instructions) = first_texts(&test).await;
    assert_eq!(entries.len(), FACE.len());
    let texts = [entries, vec![instructions]].concat();
    let tokens = tokens(&texts);
    assert!(tokens < 2000, "{tokens}: {texts:?}");
}

// FT-2: the instructions name each server once, at most 25 of them, and count the others.
#[tokio::test]
async fn instructions_name_few_servers_and_each_once() {
    let test = searching(&[]);
    let tools = test.executor.tools();
    for number in 0..60 {
        let server = format!("server{number:03}");
        tools.add_server(&server, ServerSettings::default()).unwrap();
        let both = ["one", "two"].map(|name| Fake::echoes(name).of_server(&server).shared());
        assert!(tools.set_server_tools(&server, both.into()).is_empty());
    }
    let (entries, instructions) = first_texts(&test).await;
    assert_eq!(instructions.matches("server").count(), 26, "{instructions}");
    assert_eq!(instructions.matches("server000").count(), 1, "{instructions}");
    assert!(instructions.contains("server024, 35 other servers. Find them"), "{instructions}");
    assert!(tokens(&[entries, vec![instructions]].concat()) < 2000);
}

/// How often a stream says that the tools have changed, until it is silent.
async fn changes(mut body: McpBody) -> usize {
    let mut heard = String::new();
    while let Ok(Some(Ok(frame))) = timeout(Duration::from_secs(5), body.frame()).await {
        heard.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    let methods = events(&heard).into_iter().map(|(_, message)| message["method"].clone());
    methods.filter(|method| method == "notifications/tools/list_changed").count()
}

// FT-2: a client that lists only the face is told of tools that it can find from now on, and of no others.
#[tokio::test(start_paused = true)]
async fn changes_of_tools_that_can_be_found_are_told() {
    let test = searching(&[]);
    let restricted = sees("say");
    for (caller, told) in [(&McpCaller::default(), 2), (&restricted, 1)] {
        sleep(Duration::from_secs(1)).await;
        let session = test.open("2025-11-25", json!({}), caller).await;
        let stream = test.send(Method::GET, &in_session(&session), "", caller).await.into_body();
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let listener = test.begin_alone("subscriptions/listen", wanted, caller).await.into_body();
        for name in [format!("say_{told}"), format!("hide_{told}")] {
            test.executor.tools().add(Fake::answers(&name, json!(1))).unwrap();
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(listed(&test, caller).await, FACE);
        assert_eq!((changes(stream).await, changes(listener).await), (told, told));
        let query = json!({"query": format!("say_{told}"), "limit": 100});
        let found = call(&test, "tool_search", query, caller).await;
        assert!(found.to_string().contains(&format!("say_{told}")), "{found}");
    }
}
