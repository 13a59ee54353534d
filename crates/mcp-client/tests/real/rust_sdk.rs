//! rmcp, the official Rust SDK, over streamable HTTP: with sessions and without, as JSON and as events.

use std::time::Duration;

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use serde_json::json;
use switchboard_mcp_client::{Protocol, ServerConfig};
use switchboard_mcp_wire::Era;
use switchboard_runtime::toolcall::ErrorKind;

use crate::{
    rust_server::RustServer,
    test_servers::{TestServers, legacy},
};

/// How the server answers; it notices a closed stream when it next writes to it.
fn settings(sessions: bool, json: bool) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(json)
        .with_sse_keep_alive(Some(Duration::from_millis(50)))
}

async fn converses(protocol: Protocol, era: Era, settings: StreamableHttpServerConfig) {
    let server = RustServer::start(settings).await;
    let test = TestServers::of(ServerConfig { protocol, ..server.config() }).await;
    assert_eq!(test.era("s"), era);
    assert_eq!(test.call("s__echo", json!({"text": "hé"})).await, "hé");
    let sum = test.call("s__add", json!({"a": 2, "b": 40})).await;
    assert_eq!(sum["structuredContent"], json!({"sum": 42}));
    // RS-4
    assert_eq!(test.refused("s__fail", json!({"text": "no more oil"})).await, "no more oil");
    // MC-1: progress in order and before the result.
    let events = test.watched("s__count", json!({"steps": 50})).await;
    let expected: Vec<_> =
        (1..=50).map(|step| format!("{step} of 50")).chain(["ok".into()]).collect();
    assert_eq!(events, expected);
    test.close().await;
}

/// A cancelled call ends at the server too.
async fn cancels(protocol: Protocol, settings: StreamableHttpServerConfig) {
    let server = RustServer::start(settings).await;
    let test = TestServers::of(ServerConfig { protocol, ..server.config() }).await;
    let result = test.cancelled("s__wait", json!({}), server.waiting.began.notified()).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Cancelled));
    server.waiting.cancelled.notified().await;
    assert_eq!(test.call("s__echo", json!({"text": "on"})).await, "on");
    test.close().await;
}

// MC-1
#[tokio::test]
async fn rmcp_with_sessions() {
    converses(Protocol::Legacy, legacy(), settings(true, false)).await;
    cancels(Protocol::Legacy, settings(true, false)).await;
}

// MC-1
#[tokio::test]
async fn rmcp_without_sessions_in_the_old_way() {
    converses(Protocol::Legacy, legacy(), settings(false, true)).await;
    converses(Protocol::Legacy, legacy(), settings(false, false)).await;
}

// MC-1
#[tokio::test]
async fn rmcp_in_the_new_way() {
    for json in [true, false] {
        converses(Protocol::Auto, Era::Modern, settings(true, json)).await;
        converses(Protocol::Modern, Era::Modern, settings(false, json)).await;
        cancels(Protocol::Modern, settings(false, json)).await;
    }
}
