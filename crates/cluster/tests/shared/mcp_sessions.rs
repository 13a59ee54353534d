//! MCP sessions and held calls that move between gateways, whichever servers are between them.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpBody, McpCaller, Server, SessionPeers};
use switchboard_runtime::{
    self as runtime, ToolExecutor,
    toolcall::{HumanDuration, ServerQuestions, ToolError, ToolOutput},
};
use switchboard_testkit::tools::{Fake, Witness};
use tokio::time::timeout;

use crate::{LONG, TestCluster, TestNode, until};

/// A gateway's MCP server.
pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) witness: Witness,
    pub(crate) peers: Arc<dyn SessionPeers>,
    _member: TestNode,
}

impl TestServer {
    pub(crate) async fn new(test_cluster: &TestCluster, name: &str) -> Self {
        let member = test_cluster.member(name).await;
        // Only who cancels it ends a call of these tests.
        let config = runtime::Config { timeout: HumanDuration(2 * LONG), ..Default::default() };
        let executor = ToolExecutor::builder().config(config).build();
        let witness = Witness::default();
        executor.tools().add(Fake::waits("wait", &witness)).unwrap();
        executor.tools().add(asks()).unwrap();
        let shared = member.state.mcp().await;
        let peers = shared.peers.clone().unwrap();
        let server = Server::in_cluster(executor, None, Config::default(), shared);
        member.state.attend(&server).await.unwrap();
        Self { server, witness, peers, _member: member }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        more: &[(&str, &str)],
        body: Value,
    ) -> Response<McpBody> {
        let mut request = Request::builder().method(method).uri("/mcp");
        let plain = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        for (name, value) in plain.iter().chain(more) {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        self.server.handle(request, &McpCaller::default()).await
    }

    /// A session of the old era.
    pub(crate) async fn open(&self) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.send(Method::POST, &[], body).await;
        response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }

    pub(crate) async fn ping(&self, session: &str) -> StatusCode {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        self.send(Method::POST, &[("mcp-session-id", session)], body).await.status()
    }

    /// A call of `ask` by a modern client, with what it brings along.
    pub(crate) async fn ask(&self, extra: Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        let mut params = json!({"name": "ask", "arguments": {}, "_meta": meta});
        for (key, value) in extra.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "ask"),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let response = self.send(Method::POST, &headers, body).await;
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let text = str::from_utf8(&text).unwrap();
        // A slow answer is a stream, whose last line has it.
        let line = text.lines().rfind(|line| line.contains(r#""jsonrpc""#)).unwrap();
        serde_json::from_str(line.trim_start_matches("data:")).unwrap()
    }
}

/// A tool that asks who it is.
fn asks() -> Fake {
    Fake::new("ask", |_, cx| async move {
        let back = cx.caller_channel.clone().ok_or_else(|| ToolError::failed("nobody to ask"))?;
        let question = ServerQuestions::elicit("who", "who", json!({"message": "who"}));
        let answers = back.ask(question).await;
        let answers = answers.map_err(|error| ToolError::failed(error.for_model))?;
        Ok(ToolOutput::Value(Value::Object(answers)))
    })
}

pub(crate) async fn moves_between_gateways(test_cluster: &TestCluster) {
    let [here, there] =
        [TestServer::new(test_cluster, "one").await, TestServer::new(test_cluster, "two").await];
    let session = here.open().await;
    assert_eq!(there.ping(&session).await, StatusCode::OK);

    let in_session = [("mcp-session-id", &*session)];
    let params = json!({"name": "wait", "arguments": {"secs": 600}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let cancel = async {
        here.witness.saw("begun").await;
        let params = json!({"requestId": 7});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let told = there.send(Method::POST, &in_session, note).await;
        assert_eq!(told.status(), StatusCode::ACCEPTED);
    };
    let both = async { tokio::join!(here.send(Method::POST, &in_session, call), cancel) };
    timeout(LONG, both).await.expect("it is cancelled");
    let told = async || here.witness.seen().contains(&"dropped and told");
    until("the tool is told", told).await;

    let ended = there.send(Method::DELETE, &in_session, Value::Null).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    let gone = async || here.ping(&session).await == StatusCode::NOT_FOUND;
    until("it has ended next door", gone).await;
    let late = TestServer::new(test_cluster, "late").await;
    assert_eq!(late.ping(&session).await, StatusCode::NOT_FOUND, "one that was not there asks");
}

pub(crate) async fn goes_on(test_cluster: &TestCluster) {
    let [here, there] =
        [TestServer::new(test_cluster, "one").await, TestServer::new(test_cluster, "two").await];
    let asked = here.ask(json!({})).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let answers = json!({"who": {"action": "accept", "content": {"name": "ada"}}});
    let back = json!({"requestState": asked["requestState"], "inputResponses": answers});
    let done = there.ask(back).await["result"].clone();
    assert_eq!(done["structuredContent"]["who"]["content"]["name"], "ada", "{done}");
    // Of one that is not there nobody waits for an answer.
    let nobody = there.peers.request(&"0".repeat(32), Bytes::from_static(b"{}")).await;
    assert!(nobody.is_err(), "{nobody:?}");
}
