//! What comes in and cannot be answered: each gets a status and an error that say why.

use http::Method;
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::toolcall::HumanSize;

use crate::test_server::{
    LEGACY_HEADERS, TestResponse, TestServer, in_session, modern_headers, request, with_meta,
};

// GW-4
#[tokio::test]
async fn what_is_no_message_is_refused() {
    let test = TestServer::new();
    let session = test.session().await;
    for (body, expected) in [
        ("", (400, -32700)),
        ("   ", (400, -32700)),
        ("{", (400, -32700)),
        ("\u{0}", (400, -32700)),
        ("nonsense", (400, -32700)),
        ("42", (400, -32600)),
        ("\"text\"", (400, -32600)),
        ("{}", (400, -32600)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, (400, -32600)),
        (r#"{"id":1,"method":"ping"}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, (400, -32600)),
        ("[]", (400, -32600)),
        ("[1", (400, -32700)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, (400, -32602)),
    ] {
        assert_eq!(test.post(LEGACY_HEADERS, body).await.refusal(), expected, "{body}");
        assert_eq!(test.post(&in_session(&session), body).await.refusal(), expected, "{body}");
    }
    // The id comes back where it could be read.
    let answer = test.post(LEGACY_HEADERS, r#"{"id":7,"method":"ping"}"#).await;
    assert_eq!(answer.last()["id"], 7);
}

// GW-4
#[tokio::test]
async fn other_methods_and_kinds_are_refused() {
    let test = TestServer::with(Config { max_message: HumanSize(200), ..Config::default() });
    let send = |method: Method, headers: &'static [(&str, &str)], body: String| {
        let test = &test;
        async move {
            let response = test.send(method, headers, body, &McpCaller::default()).await;
            TestResponse::of(response).await.refusal()
        }
    };
    assert_eq!(send(Method::PUT, LEGACY_HEADERS, String::new()).await, (405, 0));
    assert_eq!(send(Method::GET, LEGACY_HEADERS, String::new()).await, (400, -32600));
    assert_eq!(send(Method::DELETE, LEGACY_HEADERS, String::new()).await, (400, -32600));
    let modern = &[("mcp-protocol-version", "2026-07-28")];
    assert_eq!(send(Method::GET, modern, String::new()).await, (405, 0));
    assert_eq!(send(Method::DELETE, modern, String::new()).await, (405, 0));
    let text = &[("content-type", "text/plain")];
    assert_eq!(send(Method::POST, text, "{}".to_owned()).await, (415, -32600));
    let image = &[("content-type", "application/json"), ("accept", "image/png")];
    assert_eq!(send(Method::POST, image, "{}".to_owned()).await, (406, -32600));
    let large = request(1, "ping", json!({"padding": "x".repeat(200)}));
    assert_eq!(send(Method::POST, LEGACY_HEADERS, large).await, (413, -32600));
}

// GW-1
#[tokio::test]
async fn a_session_is_asked_for() {
    let test = TestServer::new();
    let session = test.session().await;
    let list = request(1, "tools/list", json!({}));
    assert_eq!(test.post(LEGACY_HEADERS, list.clone()).await.refusal(), (400, -32600));
    assert_eq!(test.post(&in_session("nobody"), list.clone()).await.refusal(), (404, -32600));
    let mut headers = in_session(&session);
    headers.push(("mcp-protocol-version", "1999-01-01"));
    assert_eq!(test.post(&headers, list).await.refusal(), (400, -32600));
    // Methods that there are not, or not in this era, or not without servers behind us.
    for method in ["nonsense", "server/discover", "subscriptions/listen", "prompts/list"] {
        let answer = test.ask(&session, method, json!({})).await;
        assert_eq!(answer.refusal(), (200, -32601), "{method}");
    }
    let answer = test.post(LEGACY_HEADERS, request(1, "initialize", json!({}))).await;
    assert_eq!(answer.refusal(), (400, -32602));
}

// GW-1
#[tokio::test]
async fn a_modern_request_says_what_it_must() {
    let test = TestServer::new();
    let meta = |version: Value, capabilities: Value| {
        let mut meta = json!({});
        if !version.is_null() {
            meta["io.modelcontextprotocol/protocolVersion"] = version;
        }
        if !capabilities.is_null() {
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        }
        json!({"_meta": meta})
    };
    for (params, expected) in [
        (json!({}), (400, -32602)),
        (meta(Value::Null, json!({})), (400, -32602)),
        (meta(json!("2026-07-28"), Value::Null), (400, -32602)),
        (meta(json!("2026-07-28"), json!(5)), (400, -32602)),
        (meta(json!(5), json!({})), (400, -32602)),
        (meta(json!("2025-11-25"), json!({})), (400, -32020)),
        (meta(json!("2026-07-28"), json!({})), (200, 0)),
    ] {
        let body = request(9, "server/discover", params.clone());
        let answer = test.post(&modern_headers("server/discover"), body).await;
        assert_eq!((answer.refusal(), &answer.last()["id"]), (expected, &json!(9)), "{params}");
    }
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "nonsense"] {
        assert_eq!(test.alone(method, json!({})).await.refusal(), (404, -32601), "{method}");
    }
    // A revision that nobody speaks, said twice.
    let mut headers = modern_headers("server/discover");
    headers[2].1 = "v999";
    let params = meta(json!("v999"), json!({}));
    let answer = test.post(&headers, request(1, "server/discover", params)).await;
    assert_eq!(answer.refusal(), (400, -32022));
    let data = answer.last()["error"]["data"].clone();
    assert_eq!((&data["requested"], &data["supported"][0]), (&json!("v999"), &json!("2026-07-28")));
}

// GW-1
#[tokio::test]
async fn headers_say_what_the_body_says() {
    let test = TestServer::new();
    let call = || request(1, "tools/call", with_meta(json!({"name": "say"})));
    let check = async |changes: &[(&'static str, Option<&'static str>)]| {
        let mut headers = modern_headers("tools/call");
        headers.push(("mcp-name", "say"));
        for (name, value) in changes {
            headers.retain(|(known, _)| known != name);
            headers.extend(value.map(|value| (*name, value)));
        }
        test.post(&headers, call()).await.refusal()
    };
    assert_eq!(check(&[]).await, (200, 0));
    assert_eq!(check(&[("mcp-name", Some("=?base64?c2F5?="))]).await, (200, 0));
    for wrong in [
        ("mcp-method", None),
        ("mcp-method", Some("TOOLS/CALL")),
        ("mcp-name", None),
        ("mcp-name", Some("other")),
        ("mcp-name", Some("=?base64?!?=")),
        ("mcp-protocol-version", None),
        ("mcp-protocol-version", Some("2025-11-25")),
    ] {
        assert_eq!(check(&[wrong]).await, (400, -32020), "{wrong:?}");
    }
}
