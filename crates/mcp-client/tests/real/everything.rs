//! npm's `server-everything`: every kind of answer, over stdio and streamable HTTP.

use serde_json::{Value, json};
use switchboard_mcp_client::{ServerConfig, TransportKind};
use switchboard_runtime::toolcall::ErrorKind;
use tokio::process::Command;

use crate::{
    http::Listening,
    parts::{npm, part},
    test_servers::{TestServers, legacy},
};

async fn over_stdio() -> TestServers {
    TestServers::of(npm("mcp-server-everything", &["stdio"])).await
}

async fn listening(transport: &str) -> Listening {
    let program = part("mcp-node/node_modules/.bin/mcp-server-everything");
    Listening::start(|port| {
        let mut command = Command::new(program);
        command.arg(transport).env("PORT", port.to_string());
        command
    })
    .await
}

/// Every kind of answer, and what models see of it.
async fn answers(test: &TestServers) {
    // MC-1: it knows only sessions, and is met so.
    assert_eq!(test.era("s"), legacy());
    assert!(test.tools().contains(&"s__get-sum".to_owned()), "{:?}", test.tools());
    assert_eq!(test.call("s__echo", json!({"message": "hé"})).await, "Echo: hé");
    assert_eq!(
        test.call("s__get-sum", json!({"a": 2, "b": 40})).await,
        "The sum of 2 and 40 is 42."
    );

    // RS-3: structured content is kept beside the text.
    let args = json!({"location": "Chicago"});
    let result = test.call("s__get-structured-content", args.clone()).await;
    assert!(result["structuredContent"]["temperature"].is_number(), "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    assert_eq!(result, test.raw("get-structured-content", args).await, "nothing is dropped");

    // RS-6: an image is kept, and models read a line in its place.
    let result = test.executor.call("s__get-tiny-image", json!({})).await;
    assert_eq!(result.artifacts.len(), 1, "{}", result.text());
    assert!(!result.text().contains("iVBOR"), "{}", result.text());

    // RS-3: what stands beside a text is kept too.
    let args = json!({"messageType": "error"});
    let annotated = test.raw("get-annotated-message", args.clone()).await;
    let shown = test.call("s__get-annotated-message", args).await;
    assert_eq!(shown["content"], annotated["content"]);
}

/// Long calls: one watched, one cancelled.
async fn long_calls(test: &TestServers) {
    let tool = "s__trigger-long-running-operation";
    // MC-1: progress in order and before the result.
    let events = test.watched(tool, json!({"duration": 0.2, "steps": 4})).await;
    assert_eq!(events, ["1 of 4", "2 of 4", "3 of 4", "4 of 4", "ok"]);

    let result = test.cancelled(tool, json!({"duration": 600, "steps": 2}), async {}).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Cancelled));
    assert_eq!(test.call("s__echo", json!({"message": "still there"})).await, "Echo: still there");
}

// MC-1, MC-7
#[tokio::test]
async fn everything_over_stdio() {
    let test = over_stdio().await;
    answers(&test).await;
    long_calls(&test).await;
    test.close().await;
}

// MC-1
#[tokio::test]
async fn everything_over_http() {
    let server = listening("streamableHttp").await;
    let test = TestServers::of(server.config()).await;
    answers(&test).await;
    long_calls(&test).await;
    test.close().await;
}

// MC-1: the transport of 2024-11-05.
#[tokio::test]
async fn everything_over_the_old_sse() {
    let server = listening("sse").await;
    let url = server.config().url.map(|url| url.replace("/mcp", "/sse"));
    let test = TestServers::of(ServerConfig {
        kind: Some(TransportKind::Sse),
        url,
        ..ServerConfig::default()
    })
    .await;
    answers(&test).await;
    long_calls(&test).await;
    test.close().await;
}

// MC-1: the same address without a `type`, as most configs have it.
#[tokio::test]
async fn everything_over_the_old_sse_is_found_out() {
    let server = listening("sse").await;
    let url = server.config().url.map(|url| url.replace("/mcp", "/sse"));
    let test = TestServers::of(ServerConfig { url, ..ServerConfig::default() }).await;
    answers(&test).await;
    long_calls(&test).await;
    test.close().await;
}

// RS-4
#[tokio::test]
async fn a_refusal_of_the_server_is_passed_on_in_its_own_words() {
    let mut config = npm("mcp-server-everything", &["stdio"]);
    config.validate = Some(false);
    let test = TestServers::of(config).await;
    let args = json!({"a": "two", "b": 3});
    let raw = test.raw("get-sum", args.clone()).await;
    assert_eq!(raw["isError"], true, "{raw}");
    assert_eq!(Value::String(test.refused("s__get-sum", args).await), raw["content"][0]["text"]);
    test.close().await;
}
