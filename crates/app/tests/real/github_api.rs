//! GitHub's 1,222 operations behind four tools: found by search, and called at Prism.

use std::process::Command;

use serde_json::{Value, json};
use switchboard_testkit::process::Process;

use crate::serving::{Serving, free_port, part, wait_for};

const META: &str = "io.modelcontextprotocol";

/// The result of a request of MCP's stateless revision.
fn ask(serving: &Serving, method: &str, mut params: Value) -> Value {
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    params["_meta"] = json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientCapabilities"): {},
    });
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    if !name.is_empty() {
        headers.push(("Mcp-Name", &name));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    serving.post("/mcp?tools=search", &headers, &body)["result"].take()
}

fn call(serving: &Serving, tool: &str, args: Value) -> Value {
    ask(serving, "tools/call", json!({"name": tool, "arguments": args}))
}

/// The tools that a search finds.
fn search(serving: &Serving, query: &str) -> Vec<Value> {
    let found = call(serving, "tool_search", json!({"query": query}));
    let text = found["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{found}"));
    let found: Value = serde_json::from_str(text).unwrap();
    found["tools"].as_array().unwrap().clone()
}

// FT-2, TK-3
#[test]
fn an_operation_of_github_is_found_and_called() {
    let folder = tempfile::tempdir().unwrap();
    let description = part("apis/node_modules/@octokit/openapi/generated/api.github.com.json");
    let port = free_port().to_string();
    let mut prism = Command::new("node");
    prism.arg(part("apis/node_modules/.bin/prism")).args(["mock", "-p", &port]).arg(&description);
    let _prism = Process::saying(prism, "Prism is listening");
    let config = format!(
        "[apis.github]\nopenapi = '{}'\nbase_url = 'http://127.0.0.1:{port}'\n",
        description.display()
    );
    let serving = Serving::start(folder.path(), &config);
    let issue = "github__issues_create";
    let name_of = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let found = wait_for("GitHub's operations are loaded", || {
        let found = search(&serving, "open an issue in a repository");
        found.iter().any(|tool| name_of(tool) == issue).then_some(found)
    });
    assert_eq!(ask(&serving, "tools/list", json!({}))["tools"].as_array().unwrap().len(), 4);
    let found = found.iter().find(|tool| name_of(tool) == issue).unwrap();
    assert_eq!(found["read_only"], false, "{found}");
    let args = json!({"owner": "octocat", "repo": "hello-world", "title": "It burns"});
    for required in found["parameters"]["required"].as_array().unwrap() {
        assert!(args[required.as_str().unwrap()].is_string(), "{found}");
    }
    let created = call(&serving, "tool_call", json!({"name": issue, "arguments": args}));
    assert_ne!(created["isError"], true, "{created}");
    assert!(created["structuredContent"]["number"].is_number(), "{created}");
    let refused = call(&serving, "tool_call_read_only", json!({"name": issue, "arguments": args}));
    assert_eq!(refused["isError"], true, "{refused}");
    let read = json!({"name": "github__repos_get", "arguments": {"owner": "octocat", "repo": "hello-world"}});
    let read = call(&serving, "tool_call_read_only", read);
    assert!(read["structuredContent"]["full_name"].is_string(), "{read}");
}
