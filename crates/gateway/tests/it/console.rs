//! The page itself: who gets it, and what keeps it safe.

use crate::{TestGateway, answer};

const HTML: &str = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";

// GW-1
#[tokio::test]
async fn browsers_get_the_page_and_its_views() {
    let gateway = TestGateway::start().await;
    for path in [
        "/",
        "/live",
        "/calls?tool=echo",
        "/tools/a__b",
        "/servers/time",
        "/overview",
        "/chat",
        "/runs",
        "/runs/01M7",
        "/approvals",
    ] {
        let response = gateway.get(path).header("accept", HTML).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/html; charset=utf-8", "{path}");
        let policy = header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self';",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        let tag = header("etag");
        assert!(response.text().await.unwrap().contains("<!doctype html>"), "{path}");
        let known = gateway.get(path).header("accept", HTML).header("if-none-match", tag);
        let known = known.send().await.unwrap();
        assert_eq!(known.status(), 304);
        assert_eq!(known.text().await.unwrap(), "");
    }
}

// GW-1
#[tokio::test]
async fn programs_are_told_where_to_go() {
    let gateway = TestGateway::start().await;
    let (status, text) = answer(gateway.get("/")).await;
    assert_eq!(status, 200);
    assert!(text.as_str().unwrap().contains("/openapi.json"), "{text}");
    for path in ["/live", "/tools/x", "/console/nothing.js", "/console/../Cargo.toml", "/elsewhere"]
    {
        assert_eq!(answer(gateway.get(path)).await.0, 404, "{path}");
    }
    let elsewhere = gateway.get("/elsewhere").header("accept", HTML);
    assert_eq!(answer(elsewhere).await.0, 404);
}

// GW-2
#[tokio::test]
async fn the_page_is_open_but_not_under_foreign_names() {
    let config = switchboard_gateway::Config { require_token: true, ..Default::default() };
    let gateway = TestGateway::configured(config).await;
    assert_eq!(answer(gateway.get("/").header("accept", HTML)).await.0, 200);
    let foreign = gateway.get("/").header("accept", HTML).header("host", "evil.example");
    assert_eq!(answer(foreign).await.0, 403);
}
