//! REST: tools, calls and the status of every ending (SPEC §13).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_gateway::{Feed, Metrics};
use switchboard_runtime::{
    CallEnd, CallStart, RecordClose, RecordOpen, Recorder, ServerLink, ServerSettings, ToolExecutor,
};
use switchboard_testkit::Fake;
use switchboard_toolcall::{BoxFuture, ToolError, ToolOutput};

use crate::{TestGateway, answer};

// GW-1
#[tokio::test]
async fn tools_are_listed_and_shown() {
    let gateway = TestGateway::start().await;
    let (status, tools) = answer(gateway.get("/api/tools")).await;
    assert_eq!(status, 200);
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "weather", "fails", "wait", "panics"]);
    let (status, tool) = answer(gateway.get("/api/tools/weather")).await;
    assert_eq!((status, &tool["parameters"]["required"]), (200, &json!(["city"])));
    assert_eq!(answer(gateway.get("/api/tools/nobody")).await.0, 404);
}

// TL-7
#[tokio::test]
async fn a_denied_tool_is_in_no_list_and_denied_when_it_is_called() {
    let gateway = TestGateway::start().await;
    let (_, document) = answer(gateway.get("/openapi.json")).await;
    let document = document.to_string();
    assert!(document.contains("/api/tools/echo/call") && !document.contains("forbidden"));
    assert_eq!(answer(gateway.get("/api/tools/forbidden")).await.0, 404);
    let (status, envelope) = answer(gateway.call("forbidden", &json!({}))).await;
    assert_eq!((status, &envelope["error_kind"]), (403, &json!("denied")));
    let (_, envelope) = answer(gateway.call("forbiden", &json!({}))).await;
    assert!(!envelope.to_string().contains("forbidden"), "no hint names it: {envelope}");

    // MCP clients, and models behind /v1.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}}});
    let request = gateway.client.post(gateway.url("/mcp")).json(&list);
    let request = request
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/list");
    let (status, listed) = answer(request).await;
    assert_eq!(status, 200, "{listed}");
    let listed = listed.to_string();
    assert!(listed.contains("weather") && !listed.contains("forbidden"), "{listed}");
}

// RS-1, RS-2
#[tokio::test]
async fn the_status_says_how_a_call_ended() {
    let gateway = TestGateway::start().await;
    let cases = [
        ("echo", json!({"a": 1.0}), 200, Value::Null),
        ("nobody", json!({}), 404, json!("not_found")),
        ("zoo__lion", json!({}), 404, json!("unknown_server")),
        ("weather", json!({}), 422, json!("invalid_parameters")),
        ("forbidden", json!({}), 403, json!("denied")),
        ("fails", json!({}), 502, json!("tool_error")),
        ("panics", json!({}), 500, json!("internal")),
    ];
    for (tool, args, status, kind) in cases {
        let (seen, envelope) = answer(gateway.call(tool, &args)).await;
        assert_eq!((seen, &envelope["error_kind"]), (status, &kind), "{tool}: {envelope}");
        assert_eq!(
            (&envelope["success"], &envelope["tool_name"]),
            (&json!(status == 200), &json!(tool))
        );
    }
    let slow = gateway.call("wait", &json!({"secs": 60})).header("X-Timeout", "50ms");
    let (status, envelope) = answer(slow).await;
    let text = "Tool 'wait' timed out after 0.05s; side effects may have happened";
    assert_eq!((status, &envelope["error"]), (504, &json!(text)));
}

#[tokio::test]
async fn wrong_requests_are_told_what_is_wrong() {
    let gateway = TestGateway::start().await;
    let post =
        |body: &'static str| gateway.client.post(gateway.url("/api/tools/echo/call")).body(body);
    let cases = [
        (post("{"), 400, "the body is not JSON"),
        (post("[1]"), 400, "the body must be a JSON object"),
        (post("{}").header("X-Timeout", "soon"), 400, "X-Timeout"),
        (post("{}").header("Idempotency-Key", ""), 400, "idempotency-key"),
        (gateway.get("/api/calls?limt=3"), 400, "limt"),
        (gateway.get("/nowhere"), 404, "/openapi.json"),
        (gateway.get("/api/tools/echo/call"), 405, "does not take GET, only POST"),
        (
            gateway.client.delete(gateway.url("/api/tools")),
            405,
            "does not take DELETE, only GET, HEAD",
        ),
        (gateway.client.post(gateway.url("/healthz")), 405, "`/healthz` does not take POST"),
        (gateway.client.put(gateway.url("/")), 405, "does not take PUT"),
    ];
    for (request, status, text) in cases {
        let (seen, body) = answer(request).await;
        assert_eq!(seen, status, "{body}");
        assert!(body.to_string().contains(text), "{body}");
    }
    assert_eq!(answer(post("  ")).await.0, 200, "no body is no arguments");
    // What `max_body` allows is taken: 4 MiB by default.
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(5 << 19));
    let fits = gateway.client.post(gateway.url("/api/tools/echo/call")).body(fits);
    assert_eq!(answer(fits).await.0, 200);
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(5 << 20));
    let large = gateway.client.post(gateway.url("/api/tools/echo/call")).body(large);
    assert_eq!(answer(large).await.0, 413);
}

/// A shell's prompt begins on a line of its own after `curl`.
#[tokio::test]
async fn json_ends_with_a_newline_and_a_wrong_method_names_the_right_ones() {
    let gateway = TestGateway::start().await;
    let cases = [
        gateway.get("/api/tools"),
        gateway.get("/api/gateway"),
        gateway.get("/openapi.json"),
        gateway.get("/v1/models"),
        gateway.get("/nowhere"),
        gateway.get("/api/calls?limt=3"),
        gateway.get("/api/tools/echo/call"),
        gateway.get("/v1/chat/completions"),
        gateway.call("echo", &json!({})),
        gateway.call("nobody", &json!({})),
    ];
    for request in cases {
        let response = request.send().await.unwrap();
        let (url, status) = (response.url().clone(), response.status());
        assert_eq!(response.headers()["content-type"], "application/json", "{url}");
        let allow = response.headers().get("allow").cloned();
        assert_eq!(allow.map(|allow| allow == "POST"), (status == 405).then_some(true), "{url}");
        let length = response.content_length();
        let text = response.text().await.unwrap();
        assert!(text.ends_with("}\n") || text.ends_with("]\n"), "{url}: {text:?}");
        assert_eq!(length, Some(text.len() as u64), "{url}");
    }
}

// RC-2
#[tokio::test]
async fn calls_are_listed_newest_first() {
    let gateway = TestGateway::start().await;
    answer(gateway.call("echo", &json!({"password": "secret"}))).await;
    let (_, envelope) = answer(gateway.call("fails", &json!({}))).await;
    let (status, calls) = answer(gateway.get("/api/calls?limit=2")).await;
    assert_eq!(status, 200);
    assert_eq!(calls[0]["id"], envelope["call_id"]);
    assert_eq!((&calls[0]["tool"], &calls[0]["outcome"]), (&json!("fails"), &json!("tool_error")));
    assert_eq!(calls[1]["outcome"], "ok");
    assert!(!calls.to_string().contains("secret"), "{calls}");
}

// GW-8
#[tokio::test]
async fn calls_of_the_console_are_recorded_as_such_beside_the_tokens_name() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("ada", &["*"]);
    let call = || gateway.call("echo", &json!({}));
    let own_page = |request: reqwest::RequestBuilder| request.header("x-switchboard", "console");
    for request in [call(), own_page(call()), own_page(call()).bearer_auth(&token)] {
        assert_eq!(answer(request).await.0, 200);
    }
    let (_, calls) = answer(gateway.get("/api/calls?limit=3")).await;
    let names = |at: usize| (calls[at]["client"].as_str(), calls[at]["caller"].as_str());
    let expected = [(Some("console"), Some("ada")), (Some("console"), None), (None, None)];
    assert_eq!([names(0), names(1), names(2)], expected, "{calls}");
}

#[tokio::test]
async fn the_same_idempotency_key_acts_once() {
    let gateway = TestGateway::start().await;
    let call = |args: Value| gateway.call("wait", &args).header("Idempotency-Key", "k1");
    let first = call(json!({"secs": 0})).send().await.unwrap();
    assert!(first.headers().get("idempotency-replayed").is_none());
    let again = call(json!({"secs": 0})).send().await.unwrap();
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(gateway.witness.seen().iter().filter(|what| **what == "begun").count(), 1);
    assert_eq!(answer(call(json!({"secs": 1}))).await.0, 422);
}

// GW-4
#[tokio::test]
async fn metrics_count_by_tool_and_outcome() {
    let gateway = TestGateway::start().await;
    answer(gateway.call("echo", &json!({}))).await;
    answer(gateway.call("made_up_by_a_model", &json!({}))).await;
    let text = gateway.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        r#"switchboard_tool_calls_total{tool="echo",outcome="ok"} 1"#,
        r#"switchboard_tool_calls_total{tool="(unknown)",outcome="not_found"} 1"#,
        r#"switchboard_tool_call_duration_seconds_count{tool="echo"} 1"#,
        "switchboard_tool_calls_running 0",
        "switchboard_tool_calls_waiting 0",
        "switchboard_mcp_sessions 0",
        "switchboard_connections 1",
        "switchboard_unrecorded_calls_total 0",
        r#"switchboard_http_requests_total{status="200"} 1"#,
        r#"switchboard_http_requests_total{status="404"} 1"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("made_up_by_a_model"), "{text}");
}

/// A server that is up for the third time.
struct ThirdTime;

impl ServerLink for ThirdTime {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn status(&self) -> Value {
        json!({"state": "ready"})
    }

    fn starts(&self) -> u64 {
        3
    }
}

// GW-4
#[tokio::test]
async fn metrics_tell_of_servers() {
    let gateway = TestGateway::start().await;
    let settings = ServerSettings { link: Some(Arc::new(ThirdTime)), ..Default::default() };
    gateway.executor.tools().add_server("clock", settings).unwrap();
    let text = gateway.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        r#"switchboard_server_up{server="clock"} 1"#,
        r#"switchboard_server_restarts_total{server="clock"} 2"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn the_trace_of_a_request_reaches_the_tool() {
    let gateway = TestGateway::start().await;
    let tell = Fake::new("tell", |_, cx| async move {
        let trace = cx.trace.as_deref();
        let state = trace.and_then(|trace| trace.tracestate());
        let parent = trace.map(|trace| trace.traceparent());
        Ok(ToolOutput::Value(json!([parent, state])))
    });
    gateway.executor.tools().add(tell).unwrap();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let call = || gateway.call("tell", &json!({})).header("traceparent", parent);
    let seen = async |request| answer(request).await.1["result"].clone();
    assert_eq!(seen(call()).await, json!([parent, null]));
    // It may come in several headers, which are then one list.
    let states = call().header("tracestate", "a=1").header("tracestate", "b=2");
    assert_eq!(seen(states).await, json!([parent, "a=1,b=2"]));
    let wrong = gateway.call("tell", &json!({})).header("traceparent", "00-1-2-3");
    assert_eq!(seen(wrong).await, json!([null, null]));
}

/// Writes nothing down.
struct Full;

impl Recorder for Full {
    fn open(&self, start: Arc<CallStart>) -> RecordOpen<'_> {
        let full = || Err("the disk is full".into());
        // A store knows at once, or when it has tried to write.
        match &*start.tool {
            "echo" => RecordOpen::Done(full()),
            _ => RecordOpen::Pending(Box::pin(async move { full() })),
        }
    }

    fn close(&self, _: CallEnd<'_>) -> RecordClose<'_> {
        RecordClose::Done
    }
}

// GW-4, RC-1
#[tokio::test]
async fn metrics_count_calls_that_were_not_recorded() {
    let metrics = Arc::new(Metrics::default());
    let feed = Arc::new(Feed::new(metrics.clone()));
    let executor = ToolExecutor::builder().recorder(Arc::new(Full)).observer(feed).build();
    for name in ["echo", "nobody"] {
        executor.call(name, json!({})).await;
    }
    let text = metrics.text(&executor, 0);
    assert!(text.contains("switchboard_unrecorded_calls_total 2"), "{text}");
}
