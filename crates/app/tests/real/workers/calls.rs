//! Workers that live: listed, called from everywhere, cancelled, told to leave.

use serde_json::{Value, json};

use super::worker_setup::{WorkerSetup, timed};
use crate::serving::{http, wait_for};

#[test]
fn tools_of_workers_are_listed_and_called_from_everywhere() {
    let place = WorkerSetup::new();
    let worker = place.worker("one", &[]);
    let gateway = place.gateway(1);
    // REST
    let answer = gateway.call("do", &timed("rest", 0.0));
    assert_eq!(answer["result"], "done rest", "{answer}");
    assert_eq!(answer["server"], "gpu");
    // MCP
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "gpu__w__look", "arguments": {"id": "mcp"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }}});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "gpu__w__look"),
    ];
    let answer = gateway.serving.post("/mcp", &headers, &request);
    assert_eq!(answer["result"]["content"][0]["text"], "done mcp", "{answer}");
    // The command line
    let (status, said) = gateway.run(&["call", "gpu__w__do", "id=line", "--json"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(r#""result":"done line""#), "{said}");
    let (status, said) = gateway.run(&["tools", "--json"]);
    assert_eq!(status, Some(0));
    let tools: Vec<Value> = serde_json::from_str(&said).unwrap();
    let names: Vec<_> = tools.iter().filter(|tool| tool["server"] == "gpu").collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(names[1]["name"], "gpu__w__look");
    assert_eq!(names[1]["annotations"]["read_only"], true);
    for id in ["rest", "mcp", "line"] {
        assert_eq!(
            (place.count(&format!("begun {id}")), place.count(&format!("finished {id}"))),
            (1, 1)
        );
    }
    // The built-in tools are everybody's own.
    assert!(!said.contains("gpu__math_eval"));
    let shown = gateway.call("missing", &json!({}));
    assert_eq!(shown["error_kind"], "not_found", "{shown}");
    assert_eq!(worker.stop().code(), Some(0));
    gateway.knows(0);
    let answer = gateway.call("do", &timed("gone", 0.0));
    assert_eq!(answer["error_kind"], "unavailable", "{answer}");
    let (_, said) = gateway.run(&["tools", "--json"]);
    assert!(!said.contains("gpu__"), "{said}");
    gateway.serving.stop();
}

#[test]
fn progress_comes_in_order_and_large_things_come_whole() {
    let place = WorkerSetup::new();
    let _worker = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let head = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let path = "/api/tools/gpu__w__do/call";
    let text = http(&gateway.serving.address, "POST", path, head, &timed("p", 0.5).to_string());
    let places: Vec<_> = (1..=10)
        .map(|step| text.find(&format!("\"step {step}\"")).unwrap_or_else(|| panic!("{text}")))
        .collect();
    assert!(places.is_sorted() && text.find("done p").unwrap() > places[9], "{text}");

    let large = "y".repeat(5_000_000);
    let answer = gateway.call("measure", &json!({"text": large}));
    assert_eq!(answer["result"], "5000000", "{answer}");
    let answer = gateway.call("do", &json!({"id": "large", "size": 5_000_000}));
    assert_eq!(answer["result"].as_str().map(str::len), Some(5_000_000));
}

// EX-4
#[test]
fn who_hangs_up_stops_the_tool_and_so_does_a_gateway_that_dies() {
    let place = WorkerSetup::new();
    let _worker = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let stream = gateway.open("do", &timed("hung-up", 600.0));
    place.saw("begun hung-up");
    drop(stream);
    place.saw("cancelled hung-up");
    let _stream = gateway.open("do", &timed("died", 600.0));
    place.saw("begun died");
    // Its process is killed when it is dropped.
    drop(gateway);
    place.saw("cancelled died");
}

// GW-4
#[test]
fn a_worker_that_is_told_to_stop_finishes_what_it_has() {
    let place = WorkerSetup::new();
    let one = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let short = gateway.begin("do", timed("short", 3.0));
    let long = gateway.begin("do", timed("long", 200.0));
    place.saw("begun short");
    place.saw("begun long");
    let two = place.worker("two", &[]);
    gateway.knows(2);
    assert_eq!(one.stop().code(), Some(0));
    assert_eq!(short.join().unwrap()["result"], "done short");
    let long = long.join().unwrap();
    assert_eq!(long["error_kind"], "cancelled", "{long}");
    place.saw("cancelled long");
    gateway.knows(1);
    assert_eq!(gateway.call("do", &timed("next", 0.0))["result"], "done next");
    drop(two);
}

#[test]
fn nats_may_be_started_again() {
    let mut place = WorkerSetup::new();
    let _worker = place.worker("one", &[]);
    let gateway = place.gateway(1);
    place.nats.kill();
    wait_for("NATS is missed", || {
        let answer = gateway.call("look", &timed("away", 0.0));
        (answer["error_kind"] == "unavailable").then_some(())
    });
    // Nothing else waits for it.
    let path = "/api/tools/math_eval/call";
    let answer = gateway.serving.post(path, &[], &json!({"expression": "6*7"}));
    assert_eq!(answer["result"]["result"], 42);
    let (status, said) = gateway.run(&["call", "math_eval", "expression=1+1"]);
    assert_eq!(status, Some(0), "{said}");
    place.nats.restart();
    wait_for("the worker is back", || {
        (gateway.call("look", &timed("back", 0.0))["result"] == "done back").then_some(())
    });
}
