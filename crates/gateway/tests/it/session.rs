//! The console's sign-in: a cookie that stands for a token, and only for the page that is ours (SPEC GW-2).

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use switchboard_gateway::Config;

use crate::{TestGateway, answer, read};

impl TestGateway {
    /// A request as the console's own page sends it.
    fn as_page(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, self.url(path));
        let origin = format!("http://{}", self.address);
        request.header("x-switchboard", "console").header("origin", origin)
    }

    /// The cookie of a new session, and what was said with it.
    async fn sign_in(&self, token: &str) -> (String, Value) {
        let request = self.as_page(Method::POST, "/api/session").json(&json!({"token": token}));
        let response = request.send().await.unwrap();
        let cookie = response.headers()["set-cookie"].to_str().unwrap().to_owned();
        let (status, session) = read(response).await;
        assert_eq!(status, 200, "{session}");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains(token) && !cookie.contains("Secure"), "{cookie}");
        (cookie.split(';').next().unwrap().to_owned(), session)
    }
}

async fn demanding() -> TestGateway {
    TestGateway::configured(Config { require_token: true, ..Config::default() }).await
}

#[tokio::test]
async fn a_cookie_stands_for_the_token_until_its_end() {
    let gateway = demanding().await;
    let token = gateway.token("ada", &["echo"]);
    let (_, nobody) = answer(gateway.get("/api/session")).await;
    assert_eq!(
        (&nobody["signed_in"], &nobody["needs_token"], &nobody["may_administer"]),
        (&json!(false), &json!(true), &json!(false))
    );
    let (cookie, session) = gateway.sign_in(&token).await;
    assert_eq!((&session["signed_in"], &session["name"]), (&json!(true), &json!("ada")));
    assert!(session["expires"].is_string() && session["version"].is_string());

    let (status, tools) = answer(gateway.get("/api/tools").header("cookie", &cookie)).await;
    assert_eq!((status, tools.as_array().map(Vec::len)), (200, Some(1)), "what the token sees");
    let (_, session) = answer(gateway.get("/api/session").header("cookie", &cookie)).await;
    assert_eq!(session["name"], "ada");
    let call = gateway.as_page(Method::POST, "/api/tools/echo/call").header("cookie", &cookie);
    assert_eq!(answer(call.json(&json!({}))).await.0, 200);
    let (_, calls) = answer(gateway.get("/api/calls").header("cookie", &cookie)).await;
    assert_eq!(calls[0]["caller"], "ada");

    let out = gateway.as_page(Method::DELETE, "/api/session").header("cookie", &cookie);
    let out = out.send().await.unwrap();
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(out.status(), 204);
    assert_eq!(answer(gateway.get("/api/tools").header("cookie", &cookie)).await.0, 401);
}

#[tokio::test]
async fn a_revoked_token_takes_its_sessions_along() {
    let gateway = demanding().await;
    let token = gateway.token("ada", &["*"]);
    let (cookie, _) = gateway.sign_in(&token).await;
    gateway.tokens.revoke("ada").unwrap();
    let (status, refusal) = answer(gateway.get("/api/tools").header("cookie", &cookie)).await;
    assert_eq!((status, &refusal["error"]), (401, &json!("the token is not known")));
}

#[tokio::test]
async fn a_cookie_counts_only_for_our_own_page() {
    let origins = vec!["https://app.example".to_owned()];
    let config = Config { require_token: true, origins, ..Config::default() };
    let gateway = TestGateway::configured(config).await;
    let token = gateway.token("ada", &["*"]);
    let (cookie, _) = gateway.sign_in(&token).await;
    let own = format!("http://{}", gateway.address);
    let post = |headers: &[(&'static str, &str)]| {
        let mut request = gateway.call("echo", &json!({})).header("cookie", &cookie);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
    };
    let said = ("x-switchboard", "console");
    for good in [
        &[said, ("origin", &*own)][..],
        &[said, ("sec-fetch-site", "same-origin")],
        &[said, ("origin", &own), ("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(answer(post(good)).await.0, 200, "{good:?}");
    }
    for bad in [
        &[][..],
        &[said],
        &[("origin", &*own)],
        &[("x-switchboard", "other"), ("origin", &own)],
        &[said, ("origin", "https://app.example")],
        &[said, ("origin", "https://evil.example")],
        &[said, ("origin", "null")],
        &[said, ("origin", &own), ("sec-fetch-site", "same-site")],
        &[said, ("sec-fetch-site", "none")],
        &[said, ("sec-fetch-site", "cross-site")],
    ] {
        assert_eq!(answer(post(bad)).await.0, 403, "{bad:?}");
    }
    for (site, status) in
        [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)]
    {
        let request = gateway.get("/api/tools").header("cookie", &cookie);
        assert_eq!(answer(request.header("sec-fetch-site", site)).await.0, status, "{site}");
    }
    let calls = gateway.executor.history().recent(100).await.unwrap();
    assert_eq!(calls.len(), 3, "only the good ones ran");
}

#[tokio::test]
async fn the_header_wins_over_the_cookie() {
    let gateway = demanding().await;
    let (narrow, wide) = (gateway.token("narrow", &["echo"]), gateway.token("wide", &["*"]));
    let (cookie, _) = gateway.sign_in(&narrow).await;
    let both = gateway.get("/api/session").header("cookie", &cookie);
    assert_eq!(answer(both.bearer_auth(wide)).await.1["name"], "wide");
    let wrong = gateway.get("/api/tools").header("cookie", &cookie).bearer_auth("sb_wrong");
    assert_eq!(answer(wrong).await.0, 401);
}

#[tokio::test]
async fn who_cannot_sign_in_is_told_why() {
    let gateway = demanding().await;
    gateway.token("ada", &["*"]);
    let sign_in = || gateway.as_page(Method::POST, "/api/session");
    let (status, refusal) = answer(sign_in().json(&json!({"token": "sb_wrong"}))).await;
    assert_eq!((status, &refusal["error"]), (401, &json!("the token is not known")));
    for body in ["", "{", "{}", "{\"token\": 1}", "{\"token\": \"a\", \"more\": 1}"] {
        let (status, refusal) = answer(sign_in().body(body)).await;
        assert_eq!(status, 400, "{body}");
        assert!(refusal["error"].as_str().unwrap().contains("token"), "{refusal}");
    }
    // Another page must not sign a browser in under its own token.
    let forged =
        gateway.client.post(gateway.url("/api/session")).json(&json!({"token": "sb_wrong"}));
    assert_eq!(answer(forged).await.0, 403);
    let foreign = gateway.get("/api/session").header("origin", "https://evil.example");
    assert_eq!(answer(foreign).await.0, 403);
}

#[tokio::test]
async fn where_no_token_is_needed_none_is_asked_for() {
    let gateway = TestGateway::start().await;
    let (_, session) = answer(gateway.get("/api/session")).await;
    assert_eq!(
        (&session["signed_in"], &session["needs_token"], &session["may_administer"]),
        (&json!(false), &json!(false), &json!(true))
    );
    let any = gateway.as_page(Method::POST, "/api/session").json(&json!({"token": "any"}));
    let response = any.send().await.unwrap();
    assert!(response.headers().get("set-cookie").is_none());
    assert_eq!(response.status(), 200);
    let stale = gateway.get("/api/tools").header("cookie", "switchboard_1=x; other=y");
    assert_eq!(answer(stale).await.0, 200);
}
