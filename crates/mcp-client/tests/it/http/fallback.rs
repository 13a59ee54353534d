//! An address that does not answer as streamable HTTP is tried as HTTP+SSE, as the specification tells clients (MC-1).

use std::{sync::Arc, time::Duration};

use indexmap::IndexMap;
use serde_json::{Value, json};
use switchboard_mcp_client::{KnownProtocols, ServerConfig, ServerDeps, ServerState, Servers};
use switchboard_runtime::{ToolExecutor, toolcall::HumanDuration};

use super::server::Server;

/// What Express answers to a POST that it has no route for.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Cannot POST /mcp</pre></body></html>";

struct Client {
    executor: ToolExecutor,
    servers: Servers,
}

impl Client {
    fn connect(url: &str, protocols: &Arc<KnownProtocols>) -> Self {
        let executor = ToolExecutor::default();
        let mut deps = ServerDeps::new(executor.tools());
        deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(1));
        deps.mcp.retry_attempts = 1;
        deps.protocols = protocols.clone();
        let config = ServerConfig { url: Some(url.to_owned()), ..ServerConfig::default() };
        let configs = IndexMap::from([("s".to_owned(), config)]);
        let servers = Servers::start(configs, executor.tools(), &deps).unwrap();
        Self { executor, servers }
    }

    /// Why the server could not be reached.
    async fn reason(&self) -> String {
        self.servers.wait_until_ready().await;
        match self.servers.get("s").unwrap().state() {
            ServerState::Failed(reason) => reason.to_string(),
            other => panic!("{}", other.name()),
        }
    }
}

fn answer(message: &Value) -> Value {
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}),
        "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        other => panic!("{other}"),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

/// Answers as a server of 2024-11-05 does until its tool was called, and to other POSTs with `status`. Returns the lines of
/// the requests.
async fn be_old(server: &mut Server, status: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut stream = None;
    loop {
        let asked = server.next().await;
        lines.push(asked.line().to_owned());
        match asked.line() {
            GET => {
                let opened = stream.insert(asked.stream("").await);
                opened.send("event: endpoint\ndata: /messages?session=1\n\n").await;
            }
            MESSAGE => {
                let message: Value = serde_json::from_str(&asked.body).unwrap();
                asked.accept().await;
                if message.get("id").is_some() {
                    stream.as_mut().unwrap().message(&answer(&message).to_string()).await;
                }
                if message["method"] == "tools/call" {
                    return lines;
                }
            }
            _ => asked.answer(status, "content-type: text/html\r\n", PAGE).await,
        }
    }
}

/// Answers as a server of streamable HTTP with sessions does until its tool was called.
async fn be_streamable(server: &mut Server) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let asked = server.next().await;
        lines.push(asked.line().to_owned());
        if asked.line() != POST {
            asked.answer("405 Method Not Allowed", "", "").await;
            continue;
        }
        let message: Value = serde_json::from_str(&asked.body).unwrap();
        match message["method"].as_str().unwrap() {
            "server/discover" => asked.json("400 Bad Request", "{}").await,
            "tools/call" => {
                asked.json("200 OK", &answer(&message).to_string()).await;
                return lines;
            }
            _ if message.get("id").is_none() => asked.accept().await,
            _ => asked.json("200 OK", &answer(&message).to_string()).await,
        }
    }
}

const POST: &str = "POST /mcp HTTP/1.1";
const GET: &str = "GET /mcp HTTP/1.1";
const MESSAGE: &str = "POST /messages?session=1 HTTP/1.1";

/// Calls the tool while `serving` answers; returns what that returns.
async fn call(client: &Client, serving: impl Future<Output = Vec<String>>) -> Vec<String> {
    let (result, lines) = tokio::join!(client.executor.call("s__hello", json!({})), serving);
    assert_eq!(result.text(), "hello");
    lines
}

// MC-1
#[tokio::test]
async fn an_address_of_http_sse_is_found_out() {
    for status in ["404 Not Found", "405 Method Not Allowed", "400 Bad Request"] {
        let mut server = Server::start().await;
        let client = Client::connect(&server.url, &Arc::default());
        let lines = call(&client, be_old(&mut server, status)).await;
        // The probe, `initialize`, then the stream; `initialize`, `initialized`, the list and the call on it.
        assert_eq!(lines, [POST, POST, GET, MESSAGE, MESSAGE, MESSAGE, MESSAGE], "{status}");
        client.servers.close().await;
    }
}

// MC-1: what was found out is remembered for the next process, and mends itself if the server is replaced.
#[tokio::test]
async fn what_was_found_out_saves_the_detour_as_long_as_it_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let known = || Arc::new(KnownProtocols::load(folder.path().join("protocols.json")));
    let mut server = Server::start().await;
    let url = server.url.clone();
    for first in [POST, GET] {
        let client = Client::connect(&url, &known());
        let lines = call(&client, be_old(&mut server, "404 Not Found")).await;
        assert_eq!(lines[0], first);
        client.servers.close().await;
    }
    for first in [GET, POST] {
        let client = Client::connect(&url, &known());
        let lines = call(&client, be_streamable(&mut server)).await;
        assert_eq!(lines[0], first);
        client.servers.close().await;
    }
}

// MC-1: if that fails too, both are told, and no whole page.
#[tokio::test]
async fn an_address_that_is_neither_is_told_as_both() {
    let mut server = Server::start().await;
    let client = Client::connect(&server.url, &Arc::default());
    let serving = tokio::spawn(async move {
        loop {
            let asked = server.next().await;
            asked.answer("404 Not Found", "content-type: text/html\r\n", PAGE).await;
        }
    });
    let expected = "MCP connection failed after 1 attempt: Connection to http server 's' failed: \
                    as streamable HTTP: HTTP status 404: Error; as HTTP+SSE: HTTP status 404: Error";
    assert_eq!(client.reason().await, expected);
    serving.abort();
}

// MC-1: other refusals are not answered with another transport.
#[tokio::test]
async fn a_refusal_of_another_kind_is_no_reason_to_fall_back() {
    let mut server = Server::start().await;
    let client = Client::connect(&server.url, &Arc::default());
    let serving = tokio::spawn(async move {
        loop {
            let asked = server.next().await;
            assert_eq!(asked.line(), POST);
            asked.answer("401 Unauthorized", "", "").await;
        }
    });
    let reason = client.reason().await;
    assert!(reason.ends_with("Connection to http server 's' failed: HTTP status 401"), "{reason}");
    serving.abort();
}
