//! Servers behind HTTP as the executor's callers see them: expired sessions, changed lists.

use std::{collections::VecDeque, time::Duration};

use indexmap::IndexMap;
use serde_json::{Value, json};
use switchboard_mcp_client::{McpConfig, ServerConfig, ServerDeps, Servers};
use switchboard_runtime::{ToolExecutor, toolcall::HumanDuration};

use super::server::{ReceivedRequest, Server};

fn connect(url: &str) -> (ToolExecutor, Servers) {
    let executor = ToolExecutor::default();
    let deps = ServerDeps {
        mcp: McpConfig {
            retry_base_delay: HumanDuration(Duration::from_millis(1)),
            ..McpConfig::default()
        },
        ..ServerDeps::new(executor.tools())
    };
    let config = ServerConfig { url: Some(url.to_owned()), ..ServerConfig::default() };
    let configs = IndexMap::from([("s".to_owned(), config)]);
    let servers = Servers::start(configs, executor.tools(), &deps).unwrap();
    (executor, servers)
}

fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    json!({"resultType": "complete", "tools": names.iter().map(tool).collect::<Vec<_>>()})
}

async fn result(asked: ReceivedRequest, more: &str, result: Value) {
    let message: Value = serde_json::from_str(&asked.body).unwrap();
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    asked.answer("200 OK", &format!("content-type: application/json\r\n{more}"), &body).await;
}

/// Answers as an old server whose sessions have these names, the first of which expires at the first call.
async fn expiring(mut server: Server, mut sessions: VecDeque<&'static str>) -> Vec<String> {
    let mut called_with = Vec::new();
    loop {
        let asked = server.next().await;
        if asked.line().starts_with("GET") || asked.line().starts_with("DELETE") {
            asked.answer("405 Method Not Allowed", "", "").await;
            continue;
        }
        let message: Value = serde_json::from_str(&asked.body).unwrap();
        let session = asked.header("mcp-session-id").unwrap_or("").to_owned();
        match message["method"].as_str().unwrap() {
            "server/discover" => asked.json("400 Bad Request", "{}").await,
            "initialize" => {
                let named = format!("mcp-session-id: {}\r\n", sessions[0]);
                let info = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}});
                result(asked, &named, info).await;
            }
            "tools/list" => result(asked, "", tools(&["hello"])).await,
            "tools/call" => {
                called_with.push(session);
                if sessions.len() > 1 {
                    sessions.pop_front();
                    asked.answer("404 Not Found", "", "").await;
                } else {
                    let text = json!({"content": [{"type": "text", "text": "hello"}]});
                    result(asked, "", text).await;
                    return called_with;
                }
            }
            _ => asked.accept().await,
        }
    }
}

// MC-6
#[tokio::test]
async fn an_expired_session_is_opened_anew_once() {
    let server = Server::start().await;
    let (executor, servers) = connect(&server.url);
    let serving = tokio::spawn(expiring(server, ["one", "two"].into()));
    servers.wait_until_ready().await;
    let result = executor.call("s__hello", json!({})).await;
    assert_eq!(result.text(), "hello");
    assert_eq!(serving.await.unwrap(), ["one", "two"]);
}

// MC-6: a server whose every session expires at once is not asked for ever.
#[tokio::test]
async fn a_session_that_expires_twice_is_the_servers_fault() {
    let server = Server::start().await;
    let (executor, servers) = connect(&server.url);
    tokio::spawn(expiring(server, ["one", "two", "three"].into()));
    servers.wait_until_ready().await;
    let result = executor.call("s__hello", json!({})).await;
    assert_eq!(
        result.text(),
        "Tool 's__hello' is unavailable: MCP server 's' could not be reached"
    );
}

// MC-1: a modern server's changes come on the stream of `subscriptions/listen`.
#[tokio::test]
async fn a_modern_servers_changes_are_followed() {
    let mut server = Server::start().await;
    let (executor, servers) = connect(&server.url);
    let serving = tokio::spawn(async move {
        let mut lists = 0;
        let mut streams = Vec::new();
        loop {
            let asked = server.next().await;
            let message: Value = serde_json::from_str(&asked.body).unwrap();
            match message["method"].as_str().unwrap() {
                "server/discover" => {
                    let capabilities = json!({"tools": {"listChanged": true}});
                    let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities});
                    result(asked, "", found).await;
                }
                "tools/list" => {
                    lists += 1;
                    let names: &[&str] = if lists == 1 { &["early"] } else { &["early", "late"] };
                    result(asked, "", tools(names)).await;
                }
                "subscriptions/listen" => {
                    assert_eq!(message["params"]["notifications"]["toolsListChanged"], true);
                    let mut stream = asked.stream("").await;
                    let changed =
                        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                    stream.send(&format!("data: {changed}\n\n")).await;
                    streams.push(stream);
                }
                other => panic!("{other}"),
            }
        }
    });
    servers.wait_until_ready().await;
    let late = async {
        while executor.tools().lookup("s__late").is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), late).await.expect("the change was not seen");
    serving.abort();
}
