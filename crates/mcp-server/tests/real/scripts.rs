//! The official Python and TypeScript SDKs, in each of their modes.

use serde_json::{Value, json};

use crate::gateway::{Listening, PACKAGE, command, node, part, run};

const MODES: [(&str, &str); 3] =
    [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")];

/// Runs a client in each mode, over HTTP and stdio, before a server of each era.
fn converses(program: &str, first: &[String]) {
    for upstream in ["legacy", "modern"] {
        let gateway = Listening::before(upstream);
        for (mode, version) in MODES {
            for target in [vec![gateway.url.clone()], command(upstream)] {
                let args = [first, &[mode.to_owned()], &target].concat();
                sees_everything(program, &args, version);
            }
        }
    }
}

/// Runs a client in each mode before gateways that take its requests in turn.
fn moves_between_gateways(program: &str, first: &[String]) {
    let gateways = Listening::several("legacy", &["--gateways", "3"]);
    for (mode, version) in MODES {
        // The first request of each run falls to another gateway.
        for _ in 0..3 {
            let args = [first, &[mode.to_owned(), gateways.url.clone()]].concat();
            sees_everything(program, &args, version);
        }
    }
}

/// Runs a client, and compares what it saw with what is there.
fn sees_everything(program: &str, args: &[String], version: &str) {
    let said = run(program, args);
    let mut seen: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let steps: Vec<_> = seen["progress"].as_array().unwrap().iter().map(Value::as_f64).collect();
    assert_eq!(steps, [Some(0.0), Some(50.0), Some(100.0)]);
    seen["progress"] = Value::Null;
    let expected = json!({
        "version": version,
        "tools": ["test_simple_text", "test_image_content"],
        "text": "This is a simple text response for testing.",
        "progress": null,
        "failed": true,
        "asked": r#"User response: action=accept, content={"username":"who","email":"a@b"}"#,
        "resource": "This is the content of the static text resource.",
        "prompt": "This is a simple prompt for testing.",
    });
    assert_eq!(seen, expected, "{args:?}");
}

// GW-1, GW-3
#[test]
fn the_python_sdk() {
    let script = format!("{PACKAGE}/tests/real/client.py");
    converses(&part("mcp-python/venv/bin/python"), &[script]);
}

// GW-1, GW-3
#[test]
fn the_typescript_sdk() {
    let script = format!("{PACKAGE}/tests/real/client.mjs");
    converses(&node(), &[script, part("mcp-clients/node_modules")]);
}

// GW-1: tasks, asked after at one gateway after the other.
#[test]
fn the_package_for_tasks() {
    let gateways = Listening::several("modern", &["--gateways", "3", "--tasks"]);
    let script = format!("{PACKAGE}/tests/real/tasks.mjs");
    let args = [script, part("mcp-clients/node_modules"), gateways.url.clone()];
    let said = run(&node(), &args);
    let seen: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let outcome = |name: &str| (seen[name]["status"].as_str(), seen[name]["text"].as_str());
    let completed = |text| (Some("completed"), Some(text));
    assert_eq!(outcome("slow"), completed(r#"computed "slow""#));
    // What is quick may be answered without a task, or not: that is not for the client to see.
    assert_eq!(outcome("quick"), completed(r#"computed "quick""#));
    assert_eq!(outcome("failing"), completed("the job has failed"));
    assert_eq!(outcome("broken"), (Some("failed"), Some("the server has crashed")));
    assert_eq!(outcome("cancelled"), (Some("cancelled"), None));
    assert_eq!(seen["slow"]["states"][0], "working");
    assert_eq!(seen["methods"], json!(["tasks/cancel", "tasks/get", "tools/call"]));
}

// GW-1, GW-3
#[test]
fn the_python_sdk_before_many_gateways() {
    let script = format!("{PACKAGE}/tests/real/client.py");
    moves_between_gateways(&part("mcp-python/venv/bin/python"), &[script]);
}

// GW-1, GW-3
#[test]
fn the_typescript_sdk_before_many_gateways() {
    let script = format!("{PACKAGE}/tests/real/client.mjs");
    moves_between_gateways(&node(), &[script, part("mcp-clients/node_modules")]);
}
