//! Clients that vanish, clients that are slow, and the end.

use std::time::Duration;

use serde_json::json;
use switchboard_gateway::Config;
use switchboard_testkit::until;
use switchboard_toolcall::HumanDuration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{TestGateway, answer};

/// Waits until the witness has seen it.
pub(crate) async fn until_seen(gateway: &TestGateway, what: &str) {
    until(async || gateway.witness.seen().contains(&what)).await;
}

// EX-4
#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_call() {
    let gateway = TestGateway::start().await;
    let call = tokio::spawn(gateway.call("wait", &json!({"secs": 60})).send());
    until_seen(&gateway, "begun").await;
    call.abort();
    until_seen(&gateway, "dropped and told").await;
    let outcome = async || answer(gateway.get("/api/calls")).await.1[0]["outcome"].clone();
    until(async || outcome().await != "running").await;
    assert_eq!(outcome().await, "cancelled");
}

// GW-4
#[tokio::test]
async fn what_runs_may_finish_when_we_are_told_to_stop() {
    let mut gateway = TestGateway::start().await;
    let call = tokio::spawn(gateway.call("wait", &json!({"secs": 0.3})).send());
    until_seen(&gateway, "begun").await;
    gateway.stop.cancel();
    let response = call.await.unwrap().unwrap();
    assert_eq!(response.status(), 200);
    gateway.running.take().unwrap().await.unwrap();
    assert!(gateway.get("/healthz").send().await.is_err(), "nobody listens any more");
}

// GW-4
#[tokio::test]
async fn who_only_watches_holds_nobody_up() {
    // Longer than any test may take: a test that waits for it fails.
    let drain = HumanDuration(Duration::from_secs(3600));
    let mut gateway = TestGateway::configured(Config { drain, ..Config::default() }).await;
    let post = |body: serde_json::Value| {
        gateway
            .client
            .post(gateway.url("/mcp"))
            .json(&body)
            .header("accept", "application/json, text/event-stream")
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = post(hello).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].clone();
    let stream = gateway.get("/mcp").header("mcp-session-id", session);
    let stream = stream.header("accept", "text/event-stream").send().await.unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({"jsonrpc": "2.0", "id": "n", "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}});
    let listen = post(listen)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    let listen = listen.send().await.unwrap();
    let events = gateway.get("/api/events").send().await.unwrap();
    for response in [&stream, &listen, &events] {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
    }
    gateway.stop.cancel();
    gateway.running.take().unwrap().await.unwrap();
    assert!(listen.text().await.unwrap().contains(r#""id":"n""#), "it is answered in the end");
    stream.text().await.expect("it ends well");
    events.text().await.expect("it ends well");
}

// GW-4
#[tokio::test]
async fn what_does_not_finish_is_cancelled_and_recorded() {
    let drain = HumanDuration(Duration::from_millis(50));
    let mut gateway = TestGateway::configured(Config { drain, ..Config::default() }).await;
    let call = tokio::spawn(gateway.call("wait", &json!({"secs": 60})).send());
    until_seen(&gateway, "begun").await;
    gateway.stop.cancel();
    gateway.running.take().unwrap().await.unwrap();
    assert!(call.await.unwrap().is_err());
    let calls = gateway.executor.history().recent(1).await.unwrap();
    let (kind, _) = calls[0].end.expect("its record is closed");
    assert_eq!(kind.map(switchboard_toolcall::ErrorKind::code), Some("cancelled"));
}

#[tokio::test]
async fn slow_clients_are_disconnected() {
    let header_timeout = HumanDuration(Duration::from_millis(50));
    let gateway = TestGateway::configured(Config { header_timeout, ..Config::default() }).await;
    let mut slow = TcpStream::connect(gateway.address).await.unwrap();
    slow.write_all(b"GET /api/tools HTTP/1.1\r\nHost: local").await.unwrap();
    let mut rest = String::new();
    slow.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "");
}
