//! Spans as a collector receives them, and the trace as a server on the Python SDK sees it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    rotel::{Printed, Rotel},
    serving::{Serving, part, switchboard, wait_for},
};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/traced_server.py");
const CALLER: &str = "b7ad6b7169203331";

/// A gateway with a tool of its own and a server, which tells the collector of its calls, if there is one.
fn config(collector: Option<&Rotel>) -> String {
    let telemetry = collector.map(|rotel| format!("[telemetry]\notlp = '{}'\n", rotel.url()));
    format!(
        "{}[servers.peer]\ncommand = '{}'\nargs = ['{SERVER}']\n",
        telemetry.unwrap_or_default(),
        part("mcp-python/venv/bin/python").display(),
    )
}

fn trace_of(digit: char) -> (String, String) {
    let trace: String = std::iter::repeat_n(digit, 32).collect();
    let parent = format!("00-{trace}-{CALLER}-01");
    (trace, parent)
}

/// Calls a tool over REST.
fn call(serving: &Serving, tool: &str, args: &Value, parent: &str) -> Value {
    let headers = [("traceparent", parent), ("tracestate", "rojo=1")];
    serving.post(&format!("/api/tools/{tool}/call"), &headers, args)
}

/// Calls a tool as a client of 2026-07-28, the trace in `_meta`, or else only in the headers.
fn call_over_mcp(serving: &Serving, tool: &str, meta: Option<&str>, header: &str) -> Value {
    let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }}});
    if let Some(parent) = meta {
        request["params"]["_meta"]["traceparent"] = parent.into();
    }
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
        ("traceparent", header),
    ];
    serving.post("/mcp", &headers, &request)["result"]["structuredContent"].clone()
}

fn only(mut spans: Vec<Printed>) -> Printed {
    assert_eq!(spans.len(), 1, "{spans:#?}");
    spans.remove(0)
}

// GW-4, MC-1
#[test]
fn calls_arrive_as_spans_and_servers_see_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let rotel = Rotel::start(folder.path());
    let serving = Serving::start(folder.path(), &config(Some(&rotel)));

    let (local, parent) = trace_of('1');
    call(&serving, "math_eval", &json!({"expression": "2+2"}), &parent);
    let (remote, parent) = trace_of('2');
    let seen =
        call(&serving, "peer__where", &json!({}), &parent)["result"]["structuredContent"].clone();
    let (failed, parent) = trace_of('3');
    let answer = call(&serving, "peer__fail", &json!({}), &parent);
    assert_eq!(answer["error_kind"], "tool_error", "{answer}");
    let (in_meta, meta) = trace_of('4');
    let (in_header, header) = trace_of('5');
    let seen_of_meta = call_over_mcp(&serving, "peer__where", Some(&meta), &header);
    let seen_of_header = call_over_mcp(&serving, "peer__where", None, &header);
    // What has not been sent yet is sent at the end.
    serving.stop();

    let span = only(rotel.spans(&local, 1));
    assert_eq!(span.get("Name"), "execute_tool math_eval");
    assert_eq!(span.get("Kind"), "SPAN_KIND_INTERNAL");
    assert_eq!(span.get("Parent ID"), CALLER);
    assert_eq!(span.get("Status code"), "STATUS_CODE_UNSET");
    assert_eq!(span.attribute("gen_ai.operation.name"), "execute_tool");
    assert_eq!(span.attribute("gen_ai.tool.type"), "function");
    assert_eq!(span.attribute("mcp.method.name"), "");

    let span = only(rotel.spans(&remote, 1));
    assert_eq!(span.get("Name"), "execute_tool peer__where");
    assert_eq!(span.attribute("gen_ai.tool.description"), "Tells the trace of this call.");
    assert_eq!(span.attribute("mcp.method.name"), "tools/call");
    assert_eq!(span.attribute("mcp.protocol.version"), "2026-07-28");
    assert_eq!(span.attribute("switchboard.server"), "peer");
    // The server's parent is our span, whose parent is the caller's.
    assert_eq!(span.get("Parent ID"), CALLER);
    assert_eq!(seen["traceparent"], format!("00-{remote}-{}-01", span.get("ID")));
    assert_eq!(seen["tracestate"], "rojo=1");

    let span = only(rotel.spans(&failed, 1));
    assert_eq!(span.get("Status code"), "STATUS_CODE_ERROR");
    assert_eq!(span.attribute("error.type"), "tool_error");

    // What the message says counts more than what carried it.
    for (trace, seen) in [(in_meta, seen_of_meta), (in_header, seen_of_header)] {
        let span = only(rotel.spans(&trace, 1));
        assert_eq!(span.get("Parent ID"), CALLER);
        assert_eq!(seen["traceparent"], format!("00-{trace}-{}-01", span.get("ID")));
    }
    wait_for("metrics", || {
        rotel.text().contains("Name: gen_ai.execute_tool.duration").then_some(())
    });
}

// MC-1
#[test]
fn a_trace_passes_unchanged_where_nobody_is_told_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &config(None));
    let (_, parent) = trace_of('1');
    let seen =
        call(&serving, "peer__where", &json!({}), &parent)["result"]["structuredContent"].clone();
    assert_eq!(seen, json!({"traceparent": parent, "tracestate": "rojo=1"}));
    let seen = call(&serving, "peer__where", &json!({}), "no trace")["result"]["structuredContent"]
        .clone();
    assert_eq!(seen, json!({"traceparent": null, "tracestate": null}));
    serving.stop();
}

// ML-7
#[test]
fn a_run_holds_its_turns_and_calls() {
    let folder = tempfile::tempdir().unwrap();
    let rotel = Rotel::start(folder.path());
    let turns = json!({"turns": [
        {"tool_calls": [{"id": "c1", "name": "math_eval", "args": {"expression": "2+2"}}],
         "usage": {"input_tokens": 10, "output_tokens": 5}},
        {"text": "It is 4.", "usage": {"input_tokens": 20, "output_tokens": 7}},
    ]});
    fs::write(folder.path().join("script.json"), turns.to_string()).unwrap();
    let mut ask = switchboard(folder.path(), &["ask", "-m", "script:script.json", "What is 2+2?"]);
    ask.env("OTEL_EXPORTER_OTLP_ENDPOINT", rotel.url()).env("OTEL_SERVICE_NAME", "kitchen");
    assert!(ask.output().unwrap().status.success());

    let spans = rotel.all_spans(4);
    let named =
        |name: &'static str| spans.iter().filter(move |span| span.get("Name").starts_with(name));
    let run = named("invoke_agent").next().unwrap();
    assert_eq!(run.get("Parent ID"), "");
    assert_eq!(run.attribute("gen_ai.usage.output_tokens"), "Int(12)");
    let turns: Vec<_> = named("chat ").collect();
    assert_eq!(turns.len(), 2, "{spans:#?}");
    assert!(turns.iter().all(|turn| turn.get("Kind") == "SPAN_KIND_CLIENT"));
    let call = named("execute_tool math_eval").next().unwrap();
    assert_eq!(call.attribute("gen_ai.tool.call.id"), "c1");
    for part in turns.into_iter().chain([call]) {
        assert_eq!(part.get("Parent ID"), run.get("ID"), "{part:?}");
        assert_eq!(part.get("Trace ID"), run.get("Trace ID"), "{part:?}");
    }
    let text = rotel.text();
    assert!(text.contains("service.name: Str(kitchen)"), "{text}");
    wait_for("tokens", || rotel.text().contains("Name: gen_ai.client.token.usage").then_some(()));
}
