//! Commands through a gateway whose MCP clients search for tools.

use std::{io::Write, process::Stdio};

use serde_json::{Value, json};

use super::{place, serve};
use crate::{fixture::wait_until, test_folder::TestFolder};

const SEARCHED: &str = "[serve]\ndiscovery = \"search\"\n";

fn request(id: u64, method: &str, mut params: Value) -> Value {
    let meta = "io.modelcontextprotocol";
    params["_meta"] = json!({
        format!("{meta}/protocolVersion"): "2026-07-28",
        format!("{meta}/clientCapabilities"): {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The results of these requests over stdio, without what differs from process to process.
fn over_stdio(place: &TestFolder, words: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut command = place.command(words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    requests.iter().for_each(|request| writeln!(input, "{request}").unwrap());
    // Requests in flight are answered after the end of the input.
    drop(input);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut answers: Vec<Value> = answers.filter(|answer| answer["id"].is_number()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let without_meta = |mut answer: Value| {
        let mut result = answer["result"].take();
        result.as_object_mut().map(|result| result.shift_remove("_meta"));
        result
    };
    answers.into_iter().map(without_meta).collect()
}

// FT-2
#[test]
fn an_mcp_client_over_stdio_searches_as_the_gateway_says() {
    let place = place(SEARCHED);
    let call = |name: &str, args: Value| json!({"name": name, "arguments": args});
    let requests = [
        request(1, "tools/list", json!({})),
        request(2, "server/discover", json!({})),
        request(3, "tools/call", call("tool_search", json!({"query": "add numbers", "limit": 1}))),
        request(
            4,
            "tools/call",
            call("tool_call", json!({"name": "s__add", "arguments": {"a": 1, "b": 2}})),
        ),
        request(
            5,
            "tools/call",
            call("tool_call", json!({"name": "s__add", "arguments": {"a": "x"}})),
        ),
        request(6, "tools/call", call("tool_call_read_only", json!({"name": "s__add"}))),
    ];
    let serving = serve(&place);
    wait_until("the server is connected", || {
        serving.ask("GET", "/api/tools", "", "").1.to_string().contains("s__add")
    });
    let answers = over_stdio(&place, &["serve", "--stdio"], &requests);
    let listed = answers[0]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = listed.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_search", "tool_call", "tool_call_read_only", "read_result"]);
    let told = answers[1]["instructions"].as_str().unwrap();
    assert!(told.contains("More tools than are listed") && told.contains("those of s"), "{told}");
    assert!(answers[2]["content"][0]["text"].as_str().unwrap().contains("s__add"), "{answers:?}");
    assert_eq!(answers[3]["content"][0]["text"], "3", "{answers:?}");
    assert!(answers[4].to_string().contains("The schema of the arguments"), "{answers:?}");
    assert!(answers[5]["isError"] == true, "{answers:?}");
    let calls = place.run(&["calls", "--json", "--tool", "s__add"]).json();
    assert!(calls[0]["tool"] == "s__add", "the records name the tool that ran: {calls}");
}

// FT-2: models search in the process that runs them, so they get all tools, and `--tools` matches them.
#[test]
fn a_models_tools_are_not_those_that_mcp_clients_list() {
    let turns = json!({"turns": [
        {"tool_calls": [{"id": "c1", "name": "s__add", "args": {"a": 1, "b": 2}}]},
        {"text": "three"},
    ]});
    let place = place(SEARCHED).file("script.json", turns.to_string());
    let _serving = serve(&place);
    for narrowed in [&[][..], &["--tools", "s__*"]] {
        let words = [&["ask", "--json", "-m", "script:script.json", "1+2?"], narrowed].concat();
        let ran = place.run(&words);
        assert!(!ran.stderr.contains("no tool matches"), "{ran:?}");
        let report = ran.json();
        assert_eq!(report["answer"], "three", "{report}");
        let said = report["messages"].to_string();
        assert!(!said.contains("Unknown tool"), "{said}");
    }
    let calls = place.run(&["calls", "--json", "--tool", "s__add"]).json();
    assert_eq!(calls.as_array().unwrap().len(), 2, "{calls}");
}
