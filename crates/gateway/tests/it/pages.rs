//! Pages elsewhere, as their browsers see us (CORS).

use http::{HeaderMap, Method};
use serde_json::json;
use switchboard_gateway::Config;

use crate::TestGateway;

const PAGE: &str = "https://app.example";

async fn start_gateway() -> TestGateway {
    let origins = vec![PAGE.to_owned()];
    TestGateway::configured(Config { origins, require_token: true, ..Config::default() }).await
}

/// What a browser asks before a page's request.
async fn preflight(
    gateway: &TestGateway,
    path: &str,
    origin: &str,
    headers: &str,
) -> (u16, HeaderMap) {
    let request = gateway.client.request(Method::OPTIONS, gateway.url(path));
    let request = request.header("origin", origin).header("access-control-request-method", "POST");
    let response = request.header("access-control-request-headers", headers).send().await.unwrap();
    (response.status().as_u16(), response.headers().clone())
}

// GW-2
#[tokio::test]
async fn a_browser_is_told_what_a_page_may_send() {
    let gateway = start_gateway().await;
    for path in ["/mcp", "/api/tools/echo/call", "/v1/chat/completions"] {
        let asked = "authorization,mcp-session-id,Mcp-Param-City,x-evil";
        let (status, headers) = preflight(&gateway, path, PAGE, asked).await;
        assert_eq!(status, 204, "{path}");
        assert_eq!(headers["access-control-allow-origin"], PAGE);
        assert_eq!(headers["vary"], "origin");
        let methods = headers["access-control-allow-methods"].to_str().unwrap();
        assert!(methods.contains("DELETE"), "{methods}");
        let sent = headers["access-control-allow-headers"].to_str().unwrap();
        for name in [
            "authorization",
            "content-type",
            "mcp-session-id",
            "mcp-protocol-version",
            "last-event-id",
            "idempotency-key",
            "x-switchboard-answers",
            "x-timeout",
            "mcp-param-city",
        ] {
            assert!(sent.split(", ").any(|sent| sent == name), "{name} in {sent}");
        }
        assert!(!sent.contains("x-evil"), "{sent}");
        assert!(!headers.contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn pages_that_may_not_call_us_are_told_nothing() {
    let gateway = start_gateway().await;
    let allow = "access-control-allow-origin";
    for origin in ["https://evil.example", "null", "https://app.example.evil.example"] {
        let (status, headers) = preflight(&gateway, "/mcp", origin, "authorization").await;
        assert!(status >= 400 && !headers.contains_key(allow), "{origin}: {status}");
    }
    let (status, headers) = preflight(&gateway, "/metrics", PAGE, "authorization").await;
    assert!(status >= 400 && !headers.contains_key(allow), "{status}");
    let plain = TestGateway::start().await;
    let (status, headers) = preflight(&plain, "/api/tools", PAGE, "authorization").await;
    assert!(status >= 400 && !headers.contains_key(allow), "off by default: {status}");
}

#[tokio::test]
async fn answers_can_be_read_by_the_page() {
    let gateway = start_gateway().await;
    let call = || gateway.call("echo", &json!({})).header("origin", PAGE);
    let refused = call().send().await.unwrap();
    assert_eq!(refused.status(), 401, "asking before is free, calling is not");
    assert_eq!(refused.headers()["access-control-allow-origin"], PAGE);
    let token = gateway.token("page", &["*"]);
    let answered = call().bearer_auth(token).send().await.unwrap();
    assert_eq!(answered.status(), 200);
    let headers = answered.headers();
    assert_eq!(headers["access-control-allow-origin"], PAGE);
    let shown = headers["access-control-expose-headers"].to_str().unwrap();
    assert!(shown.contains("Mcp-Session-Id"), "{shown}");
}
