//! rmcp, the official Rust SDK, as a client that asks for the newest revision in the old way.

use rmcp::{
    ServiceExt,
    model::CallToolRequestParams,
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use tokio::process::Command;

use crate::gateway::{Listening, command};

async fn converses(client: RunningService<rmcp::RoleClient, ()>) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "test_simple_text");
    let called = client.call_tool(CallToolRequestParams::new("test_simple_text")).await.unwrap();
    let called = serde_json::to_value(&called).unwrap();
    assert_eq!(called["content"][0]["text"], "This is a simple text response for testing.");
    let resources = client.list_all_resources().await.unwrap();
    assert_eq!(resources.len(), 3);
    client.cancel().await.unwrap();
}

// GW-1
#[tokio::test]
async fn the_rust_sdk() {
    // Its reqwest is ours, which is built without a provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for upstream in ["legacy", "modern"] {
        let gateway = Listening::before(upstream);
        let transport = StreamableHttpClientTransport::from_uri(gateway.url.clone());
        converses(().serve(transport).await.unwrap()).await;
        let command = command(upstream);
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]);
        converses(().serve(TokioChildProcess::new(child).unwrap()).await.unwrap()).await;
    }
}
