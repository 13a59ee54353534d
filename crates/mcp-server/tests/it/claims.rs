//! What an issuer says of a caller reaches the policy, request by request.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller, Server};
use switchboard_runtime::{
    Policy, RegisteredTool, ToolExecutor,
    policy::{PolicyCheck, Verdict},
    toolcall::CallContext,
};
use switchboard_testkit::Fake;

/// Allows those of whom it is said that they are at home.
struct OnlyHome;

impl Policy for OnlyHome {
    fn check<'a>(
        &'a self,
        _tool: &'a RegisteredTool,
        _args: &'a Value,
        cx: &'a CallContext,
    ) -> PolicyCheck<'a> {
        let team = cx.claims.as_ref().map(|claims| &claims["team"]);
        PolicyCheck::Ready(match team == Some(&json!("home")) {
            true => Verdict::Allow,
            false => Verdict::Deny("not at home".to_owned()),
        })
    }
}

/// Asks within the session, and returns the session and the answer.
async fn ask(
    server: &Server,
    caller: &McpCaller,
    session: &str,
    message: Value,
) -> (String, Value) {
    let request = Request::post("/mcp").header("accept", "application/json");
    let request = match session {
        "" => request,
        session => request.header("mcp-session-id", session),
    };
    let body = Full::new(Bytes::from(message.to_string()));
    let response = server.handle(request.body(body).unwrap(), caller).await;
    let session = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().into());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (session.unwrap_or_default(), serde_json::from_slice(&body).unwrap_or_default())
}

// GW-2
#[tokio::test]
async fn each_request_is_judged_by_its_own_claims() {
    let executor = ToolExecutor::builder().policy(OnlyHome).build();
    executor.tools().add(Fake::echoes("echo")).unwrap();
    let server = Server::new(executor, None, Config::default());
    let of = |team: &str| McpCaller {
        claims: Some(Arc::new(json!({"team": team}))),
        ..McpCaller::named("ada")
    };
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let (session, _) = ask(&server, &of("home"), "", opening).await;
    assert_ne!(session, "");
    for (caller, is_error) in
        [(of("home"), false), (of("away"), true), (McpCaller::named("ada"), true)]
    {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "echo", "arguments": {},
        }});
        let (_, answer) = ask(&server, &caller, &session, call).await;
        let seen = answer["result"]["isError"].as_bool().unwrap_or_default();
        assert_eq!(seen, is_error, "{answer}");
    }
}
