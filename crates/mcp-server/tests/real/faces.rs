//! The SDKs at `/mcp?tools=search` and in two profiles at once.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::{NotificationContext, RunningService},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::gateway::{Listening, PACKAGE, node, part, run};

const FACE: [&str; 4] = ["tool_search", "tool_call", "tool_call_read_only", "read_result"];
const SIMPLE: &str = "This is a simple text response for testing.";

/// A gateway with two profiles: one that renames a tool and fixes its argument, and one that searches.
fn gateway(upstream: &str) -> Listening {
    let profiles = json!({
        "one": {
            "tools": ["echo", "test_simple_text"],
            "tool": {"echo": {"name": "parrot", "arguments": {"text": {"fixed": "Hello!"}}}},
        },
        "two": {"tools": ["echo", "test_error_*"], "discovery": "search", "pinned": ["test_error_*"]},
    });
    Listening::several(upstream, &["--echo", "--services", "--profiles", &profiles.to_string()])
}

/// What every client sees of this.
fn expected() -> Value {
    let pinned = [&FACE[..], &["test_error_handling"]].concat();
    json!({
        "search": FACE,
        "found": "test_simple_text",
        "called": ["ok", SIMPLE],
        "looked": ["ok", "hi"],
        "one": ["parrot", "read_result", "test_simple_text"],
        "two": pinned,
        "one said": ["ok", "Hello!"],
        "one hides": "error",
        "two called": ["ok", "hi"],
        "two hides": "failed",
    })
}

/// Runs a client in each mode before a server of each era.
fn sees_the_faces(program: &str, first: &[String]) {
    for upstream in ["legacy", "modern"] {
        let gateway = gateway(upstream);
        for mode in ["auto", "legacy", "2026-07-28"] {
            let args = [first, &[mode.to_owned(), gateway.url.clone()]].concat();
            let said = run(program, &args);
            let mut seen: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
            let refused = seen.as_object_mut().unwrap().remove("refused").unwrap();
            assert_eq!(seen, expected(), "{args:?}");
            assert_eq!(refused[0], "failed");
            assert!(refused[1].as_str().unwrap().contains("not annotated as read-only"));
        }
    }
}

// FT-2, FT-5
#[test]
fn the_python_sdk_searches_and_uses_two_profiles() {
    let script = format!("{PACKAGE}/tests/real/faces.py");
    sees_the_faces(&part("mcp-python/venv/bin/python"), &[script]);
}

// FT-2, FT-5
#[test]
fn the_typescript_sdk_searches_and_uses_two_profiles() {
    let script = format!("{PACKAGE}/tests/real/faces.mjs");
    sees_the_faces(&node(), &[script, part("mcp-clients/node_modules")]);
}

/// Hears of changes.
#[derive(Clone, Default)]
struct ChangeListener(Arc<Notify>);

impl ClientHandler for ChangeListener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

type RustClient = RunningService<RoleClient, ChangeListener>;

async fn connect(url: &str, face: &str, listener: &ChangeListener) -> RustClient {
    let transport = StreamableHttpClientTransport::from_uri(format!("{url}{face}"));
    listener.clone().serve(transport).await.unwrap()
}

async fn names(client: &RustClient) -> Vec<String> {
    let tools = client.list_all_tools().await.unwrap();
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

/// What a tool says, or `None` if the call is answered with a protocol error.
async fn call(client: &RustClient, name: &'static str, args: Value) -> Option<String> {
    let args = args.as_object().unwrap().clone();
    let request = CallToolRequestParams::new(name).with_arguments(args);
    let result = serde_json::to_value(client.call_tool(request).await.ok()?).unwrap();
    Some(result["content"][0]["text"].as_str().unwrap().to_owned())
}

// FT-2, FT-5: a client that lists four tools still hears when what it can find changes.
#[tokio::test]
async fn the_rust_sdk_searches_and_uses_two_profiles() {
    // Its reqwest is ours, which is built without a provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for upstream in ["legacy", "modern"] {
        let gateway = gateway(upstream);
        let listener = ChangeListener::default();
        let search = connect(&gateway.url, "?tools=search", &listener).await;
        let one = connect(&gateway.url, "/one", &ChangeListener::default()).await;
        let two = connect(&gateway.url, "/two", &ChangeListener::default()).await;
        let expected = expected();
        for (client, face) in [(&search, "search"), (&one, "one"), (&two, "two")] {
            assert_eq!(json!(names(client).await), expected[face]);
        }
        let simple = json!({"name": "test_simple_text"});
        let echo = json!({"name": "echo", "arguments": {"text": "hi"}});
        assert_eq!(call(&search, "tool_call", simple.clone()).await.unwrap(), SIMPLE);
        assert_eq!(call(&search, "tool_call_read_only", echo.clone()).await.unwrap(), "hi");
        let refused = call(&search, "tool_call_read_only", simple.clone()).await.unwrap();
        assert!(refused.contains("not annotated as read-only"), "{refused}");
        assert_eq!(call(&one, "parrot", json!({})).await.unwrap(), "Hello!");
        assert_eq!(call(&one, "echo", json!({"text": "hi"})).await, None);
        assert_eq!(call(&two, "tool_call", echo).await.unwrap(), "hi");
        assert!(call(&two, "tool_call", simple).await.unwrap().contains("not found"));

        let trigger = json!({"name": "test_trigger_tool_change"});
        call(&search, "tool_call", trigger).await.unwrap();
        timeout(Duration::from_secs(60), listener.0.notified()).await.expect("a notification");
        let found = call(&search, "tool_search", json!({"query": "test extra tool"})).await;
        assert!(found.unwrap().contains("test_extra_tool"));
        for client in [search, one, two] {
            client.cancel().await.unwrap();
        }
    }
}
