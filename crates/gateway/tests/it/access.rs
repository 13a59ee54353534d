//! Who may do what (SPEC GW-2).

use std::{fs, sync::Arc};

use serde_json::json;
use switchboard_access::{Access, NewToken, Tokens};
use switchboard_gateway::Config;
use tracing::Level;

use switchboard_runtime::ServerSettings;
use switchboard_testkit::{Fake, Logs, until};

use crate::{TestGateway, answer};

#[tokio::test]
async fn loopback_needs_no_token_but_knows_a_wrong_one() {
    let gateway = TestGateway::start().await;
    assert_eq!(answer(gateway.get("/api/tools")).await.0, 200);
    let wrong = || gateway.get("/api/tools").bearer_auth("sb_wrong");
    assert_eq!(answer(wrong()).await.0, 401, "although there is no token yet");
    gateway.token("agent", &["*"]);
    for any in ["sk-whatever-a-chat-client-sends", "not-needed"] {
        let any = gateway.get("/api/tools").bearer_auth(any);
        assert_eq!(answer(any).await.0, 200, "no token is demanded");
    }
    let (status, body) = answer(wrong()).await;
    assert_eq!((status, &body["error"]), (401, &json!("the token is not known")));
    let basic = gateway.get("/api/tools").basic_auth("ada", Some("x"));
    let response = basic.send().await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn a_token_is_demanded_where_that_is_set() {
    let gateway =
        TestGateway::configured(Config { require_token: true, ..Config::default() }).await;
    assert_eq!(answer(gateway.get("/api/tools")).await.0, 401);
    assert_eq!(answer(gateway.get("/metrics")).await.0, 401);
    let (status, body) = answer(gateway.get("/api/tools").bearer_auth("not-needed")).await;
    assert!(status == 401 && body["error"].as_str().unwrap().contains("needed: send it"), "{body}");
    assert_eq!(answer(gateway.get("/healthz")).await.0, 200);
    let token = gateway.token("agent", &["*"]);
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(token)).await.0, 200);
}

#[tokio::test]
async fn beyond_loopback_nothing_starts_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
    let open = "0.0.0.0:7300".parse().unwrap();
    let error =
        Access::new(&Config::default().access(), open, tokens.clone()).err().unwrap().to_string();
    assert!(error.contains("switchboard token new"), "{error}");
    tokens.create(NewToken { name: "one".to_owned(), ..Default::default() }).unwrap();
    let logs = Logs::collect(Level::WARN);
    assert!(Access::new(&Config::default().access(), open, tokens.clone()).is_ok());
    let lines = logs.lines();
    assert!(lines.iter().any(|line| line.contains("without TLS")), "{lines:?}");

    let cookie = |config: &Config| {
        let logs = Logs::collect(Level::WARN);
        Access::new(&config.access(), open, tokens.clone()).unwrap();
        logs.lines().iter().any(|line| line.contains("cookie is not `Secure`"))
    };
    assert!(cookie(&Config::default()));
    let public_url = Some("https://tools.example".to_owned());
    assert!(!cookie(&Config { public_url, ..Config::default() }));

    for wrong in ["tools.example", "ftp://tools.example", "https://tools.example/path", ""] {
        let config = Config { public_url: Some(wrong.to_owned()), ..Config::default() };
        let error = Access::new(&config.access(), open, tokens.clone()).err().unwrap().to_string();
        assert!(error.contains("public_url"), "{error}");
    }
}

#[tokio::test]
async fn a_token_made_a_moment_ago_limits_from_its_first_request_on() {
    let gateway = TestGateway::start().await;
    assert_eq!(answer(gateway.get("/api/tools")).await.0, 200);
    // As another process makes one, of which the gateway has not heard.
    let elsewhere = Tokens::open(gateway._folder.path().join("tokens.json")).unwrap();
    for name in ["first", "second"] {
        let tools = Some(vec!["echo".to_owned()]);
        let new = NewToken { name: name.to_owned(), tools, ..Default::default() };
        let token = elsewhere.create(new).unwrap();
        let (status, tools) = answer(gateway.get("/api/tools").bearer_auth(&token)).await;
        assert_eq!((status, tools.as_array().map(Vec::len)), (200, Some(1)), "{name}: {tools}");
    }
}

#[tokio::test(start_paused = true)]
async fn junk_does_not_have_the_file_of_tokens_read_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.json");
    let tokens = Tokens::open(&file).unwrap();
    fs::write(&file, "[{").unwrap();
    let logs = Logs::collect(Level::WARN);
    for _ in 0..100 {
        assert!(tokens.find("sb_junk").is_none());
    }
    let tries = |logs: &Logs| {
        logs.lines().iter().filter(|line| line.contains("tokens stay as they were")).count()
    };
    assert_eq!(tries(&logs), 1);
    // What cannot be read is tried again all the same.
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert!(tokens.find("sb_junk").is_none());
    assert_eq!(tries(&logs), 2);
}

#[test]
fn the_start_says_that_tokens_limit_nobody_on_loopback() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
    let warned = |require_token| {
        let logs = Logs::collect(Level::WARN);
        let config = Config { require_token, ..Config::default() };
        Access::new(&config.access(), "127.0.0.1:7300".parse().unwrap(), tokens.clone()).unwrap();
        let lines = logs.lines();
        assert!(lines.iter().all(|line| line.contains("require_token = true")), "{lines:?}");
        lines.len()
    };
    assert_eq!(warned(false), 0);
    tokens.create(NewToken { name: "one".to_owned(), ..Default::default() }).unwrap();
    assert_eq!(warned(false), 1);
    assert_eq!(warned(true), 0);
}

#[tokio::test]
async fn what_a_token_may_not_see_is_not_there() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("agent-7", &["ech*", "wait"]);
    let (_, tools) = answer(gateway.get("/api/tools").bearer_auth(&token)).await;
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "wait"]);
    assert_eq!(answer(gateway.get("/api/tools/weather").bearer_auth(&token)).await.0, 404);
    let hidden = gateway.call("weather", &json!({"city": "Berlin"})).bearer_auth(&token);
    let (status, envelope) = answer(hidden).await;
    assert_eq!((status, &envelope["error"]), (404, &json!("Tool 'weather' not found")));
    assert_eq!(envelope.get("hint"), None, "a hint would tell what is hidden");
    assert_eq!(answer(gateway.call("echo", &json!({})).bearer_auth(&token)).await.0, 200);
    answer(gateway.call("fails", &json!({}))).await;
    let (_, calls) = answer(gateway.get("/api/calls").bearer_auth(&token)).await;
    let seen: Vec<_> = calls.as_array().unwrap().iter().map(|call| &call["tool"]).collect();
    assert_eq!(seen, ["echo"]);
    assert_eq!(calls[0]["caller"], "agent-7");
}

// A tool has several names; a token sees it, or does not, whichever of them is used.
#[tokio::test]
async fn names_make_no_difference_to_what_is_hidden() {
    let gateway = TestGateway::start().await;
    let tools = gateway.executor.tools();
    let prefix = Some("clock".to_owned());
    tools.add_server("time", ServerSettings { prefix, ..Default::default() }).unwrap();
    tools.set_server_tools("time", vec![Fake::echoes("now").of_server("time").shared()]);
    for glob in ["clock__*", "time__*"] {
        let token = gateway.token(glob, &[glob]);
        let (_, listed) = answer(gateway.get("/api/tools").bearer_auth(&token)).await;
        assert_eq!(listed[0]["name"], "clock__now", "{glob}");
        for name in ["clock__now", "time__now", "now"] {
            let called = gateway.call(name, &json!({})).bearer_auth(&token);
            assert_eq!(answer(called).await.0, 200, "{glob}: {name}");
        }
        let (_, calls) = answer(gateway.get("/api/calls").bearer_auth(&token)).await;
        assert!(calls.as_array().unwrap().len() >= 3, "{glob}: {calls}");
    }
    // The bare name would fit, but the tool behind it does not.
    let token = gateway.token("narrow", &["no*"]);
    assert_eq!(answer(gateway.call("now", &json!({})).bearer_auth(&token)).await.0, 404);
    let (_, calls) = answer(gateway.get("/api/calls").bearer_auth(&token)).await;
    assert_eq!(calls, json!([]));
}

#[tokio::test]
async fn a_tokens_share_is_bounded() {
    let gateway = TestGateway::start().await;
    let rate = Some("2/h".parse().unwrap());
    let new = NewToken { name: "few".to_owned(), rate, ..Default::default() };
    let token = gateway.tokens.create(new).unwrap();
    let ask = || gateway.get("/api/tools").bearer_auth(&token);
    assert_eq!(answer(ask()).await.0, 200);
    assert_eq!(answer(ask()).await.0, 200);
    let response = ask().send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));

    let new = NewToken { name: "one".to_owned(), concurrent: Some(1), ..Default::default() };
    let token = gateway.tokens.create(new).unwrap();
    let mut events = gateway.get("/api/events").bearer_auth(&token).send().await.unwrap();
    let (status, body) = answer(gateway.get("/api/tools").bearer_auth(&token)).await;
    assert_eq!(status, 429, "{body}");
    gateway.call("echo", &json!({})).send().await.unwrap();
    assert!(events.chunk().await.unwrap().is_some());
    drop(events);
    // The place is free as soon as the gateway has noticed.
    until(async || answer(gateway.get("/api/tools").bearer_auth(&token)).await.0 != 429).await;
}

/// Sends a batch of so many calls in a session of the revision that has batches.
async fn batch(
    gateway: &TestGateway,
    token: &str,
    tool: &str,
    size: u64,
) -> (u16, serde_json::Value) {
    let post = |body: &serde_json::Value| {
        let accept = "application/json, text/event-stream";
        let request = gateway.client.post(gateway.url("/mcp")).bearer_auth(token);
        request.header("accept", accept).json(body)
    };
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let session = post(&opening).send().await.unwrap().headers()["mcp-session-id"].clone();
    let call =
        |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
    let calls: serde_json::Value = (0..size).map(call).collect();
    answer(post(&calls).header("mcp-session-id", session)).await
}

// GW-7: a batch is worth as many requests as it has, and no way around a token's share.
#[tokio::test]
async fn each_request_of_a_batch_counts() {
    let gateway = TestGateway::start().await;
    let create = |name: &str, rate: Option<&str>, concurrent| {
        let rate = rate.map(|rate| rate.parse().unwrap());
        let new = NewToken { name: name.to_owned(), rate, concurrent, ..Default::default() };
        gateway.tokens.create(new).unwrap()
    };
    let ran = |answers: &serde_json::Value| -> Vec<u64> {
        let answers = answers.as_array().unwrap().iter();
        let ran = answers.filter(|answer| answer["error"].is_null());
        ran.map(|answer| answer["id"].as_u64().unwrap()).collect()
    };
    // One request opens the session, one is the batch and its first call, three are further calls.
    let token = create("few", Some("5/h"), None);
    let (status, answers) = batch(&gateway, &token, "echo", 50).await;
    assert_eq!((status, ran(&answers)), (200, vec![0, 1, 2, 3]));
    let error = &answers[4]["error"];
    assert_eq!(error["message"], "token 'few' may make 5/h requests");
    assert_eq!((&error["code"], error["data"]["retry_after"].is_u64()), (&json!(-32000), true));
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(&token)).await.0, 429);

    let token = create("one at once", None, Some(2));
    let (status, answers) = batch(&gateway, &token, "echo", 5).await;
    assert_eq!((status, ran(&answers)), (200, vec![0, 1]));
    assert_eq!(answers[2]["error"]["message"], "token 'one at once' may have 2 requests at once");
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(&token)).await.0, 200, "given back");

    let token = create("many", None, None);
    assert_eq!(ran(&batch(&gateway, &token, "echo", 50).await.1).len(), 50);
    let (status, refused) = batch(&gateway, &token, "echo", 300).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32600)));
    // Nothing of the large one ran.
    let recorded = gateway.executor.history().recent(1000).await.unwrap();
    assert_eq!(recorded.len(), 4 + 2 + 50);
}

#[test]
fn tokens_are_kept_as_hashes_and_can_be_revoked() {
    use std::os::unix::fs::PermissionsExt;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/tokens.json");
    let tokens = Tokens::open(&file).unwrap();
    let new = NewToken { name: "a".to_owned(), ..Default::default() };
    let secret = tokens.create(new.clone()).unwrap();
    assert!(secret.starts_with("sb_") && secret.len() > 40, "{secret}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&secret[3..]), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(tokens.create(new).unwrap_err().to_string().contains("already"));
    let wrong =
        NewToken { name: "b".to_owned(), tools: Some(vec!["a{".to_owned()]), ..Default::default() };
    assert!(tokens.create(wrong).is_err());

    let other = Tokens::open(&file).unwrap();
    assert_eq!(other.find(&secret).unwrap().caller().name.as_deref(), Some("a"));
    assert!(other.find("sb_nonsense").is_none());
    other.revoke("a").unwrap();
    assert!(other.find(&secret).is_none());
    assert_eq!(other.revoke("a").unwrap_err().to_string(), "there is no token 'a'");

    fs::write(&file, "[{").unwrap();
    assert!(Tokens::open(&file).err().unwrap().to_string().contains("cannot be read"));
}

#[tokio::test]
async fn foreign_pages_and_names_are_turned_away() {
    let gateway = TestGateway::start().await;
    for (name, value) in
        [("origin", "null"), ("origin", "https://evil.example"), ("host", "evil.example")]
    {
        let request = gateway.call("echo", &json!({})).header(name, value);
        assert_eq!(answer(request).await.0, 403, "{name}: {value}");
    }
    let own = gateway.url("").trim_end_matches('/').to_owned();
    assert_eq!(answer(gateway.call("echo", &json!({})).header("origin", own)).await.0, 200);
}

#[tokio::test]
async fn browsers_fetch_nothing_for_pages_of_other_sites() {
    let origins = vec!["https://app.example".to_owned()];
    let gateway = TestGateway::configured(Config { origins, ..Config::default() }).await;
    let cross = |path: &str| gateway.get(path).header("sec-fetch-site", "cross-site");
    let closed = ["/api/tools", "/api/events", "/api/session", "/mcp", "/metrics", "/v1/models"];
    for path in closed {
        assert_eq!(answer(cross(path)).await.0, 403, "{path}");
        let led = cross(path).header("sec-fetch-mode", "navigate");
        let led = led.header("sec-fetch-dest", "document");
        assert_eq!(answer(led).await.0, 403, "a link to {path}");
    }
    for path in ["/", "/calls"] {
        let page = || cross(path).header("accept", "text/html");
        assert_eq!(answer(page()).await.0, 403, "{path}");
        let led = page().header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
        assert_eq!(answer(led).await.0, 200, "a link to {path}");
    }
    let allowed = cross("/api/tools").header("origin", "https://app.example");
    assert_eq!(answer(allowed).await.0, 200);
}

#[tokio::test]
async fn what_is_for_the_caller_alone_is_kept_by_no_cache() {
    let gateway = TestGateway::start().await;
    for (path, status) in [
        ("/api/tools", 200),
        ("/api/session", 200),
        ("/api/events", 200),
        ("/api/calls/none", 404),
        ("/api/nothing", 404),
        ("/v1/models", 200),
        ("/metrics", 200),
        ("/openapi.json", 200),
    ] {
        let response = gateway.get(path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
    }
}
