//! `search_web` when its provider fails, lies or does not answer.

use std::{error::Error, time::Duration};

use serde_json::json;
use switchboard_toolcall::{CallContext, ErrorKind, ToolError};
use tokio::{io::AsyncReadExt, net::TcpListener, sync::oneshot};

use crate::responder::{Responder, call, provider_at, read_request, response, search_web};

/// The failure with the provider's address left out.
async fn failure(provider: &str, bytes: impl Into<Vec<u8>>) -> (ErrorKind, String) {
    let responder = Responder::answering(bytes).await;
    let tool = provider_at(provider, &responder.address);
    let error = call(&tool, json!({"query": "private matter"})).await.unwrap_err();
    keeps_secrets(&error);
    (error.kind, error.for_model.replace(&responder.address, "HERE"))
}

/// Neither the key nor the query is in an error or its causes.
fn keeps_secrets(error: &ToolError) {
    let mut told = format!("{error:?}");
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        told += &error.to_string();
        cause = error.source();
    }
    for secret in ["BSA-secret", "private", "pass"] {
        assert!(!told.contains(secret), "{told}");
    }
}

const TOKEN_INVALID: &str = r#"{"type":"ErrorResponse","error":{"id":"5d83","status":422,
    "code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid.",
    "meta":{"component":"authentication"}},"time":1663072993}"#;

const VALIDATION: &str = r#"{"type":"ErrorResponse","error":{"id":"5d83","status":422,"code":"VALIDATION",
    "detail":"Unable to validate request parameter(s)","meta":{"errors":[]}},"time":1663072993}"#;

#[tokio::test]
async fn the_provider_is_of_no_use() {
    // LT-3
    let no_formats =
        "refused the request (403); add `json` to `search.formats` in its settings.yml";
    let cases = [
        ("searxng", "403 FORBIDDEN", "", no_formats),
        ("brave", "401 Unauthorized", "{}", "refused the `api_key` (401)"),
        ("brave", "422 Unprocessable Entity", TOKEN_INVALID, "refused the `api_key` (422)"),
        (
            "brave",
            "429 Too Many Requests\r\nRetry-After: 7",
            "{}",
            "has had too many requests (429); try again in 7s",
        ),
        ("searxng", "429 Slow", "", "has had too many requests (429); try again later"),
        ("duckduckgo", "503 Service Unavailable", "<p>", "failed (503); try again later"),
    ];
    for (provider, status, body, expected) in cases {
        let (kind, text) = failure(provider, response(status, "application/json", body)).await;
        assert_eq!(kind, ErrorKind::Unavailable, "{status}");
        let expected = format!(" at HERE {expected}");
        assert!(text.starts_with("Tool 'search_web' is unavailable: "), "{text}");
        assert!(text.ends_with(&expected), "{text}");
    }
}

#[tokio::test]
async fn the_provider_refuses_the_search() {
    // LT-3
    let elsewhere = "302 Found\r\nLocation: http://127.0.0.2:9/";
    let circle = "302 Found\r\nLocation: /search";
    let redirects =
        "redirects to another server or in circles; check `url` in [builtins.search_web] (302)";
    let invalid = "refused the search (422): Unable to validate request parameter(s)";
    let cases = [
        ("Brave Search", "422 Unprocessable Entity", VALIDATION, invalid),
        ("SearXNG", "404 Not Found", "", "refused the search (404)"),
        ("Brave Search", elsewhere, "", redirects),
        ("SearXNG", circle, "", redirects),
    ];
    for (name, status, body, expected) in cases {
        let provider = if name == "SearXNG" { "searxng" } else { "brave" };
        let (kind, text) = failure(provider, response(status, "application/json", body)).await;
        assert_eq!(kind, ErrorKind::ToolError, "{status}");
        assert_eq!(text, format!("{name} at HERE {expected}"));
    }
}

#[tokio::test]
async fn an_answer_that_is_none() {
    // LT-3
    let page = response("200 OK", "text/html", "\n<!doctype html><title>Hello</title>");
    let (kind, text) = failure("searxng", page).await;
    assert_eq!(kind, ErrorKind::ToolError);
    assert_eq!(
        text,
        "SearXNG at HERE answered with a web page instead of JSON; add `json` to `search.formats` in its settings.yml"
    );

    for body in ["", "{\"results\": [", "[]", "{\"error\": \"no\"}", "\u{0}"] {
        let (kind, text) = failure("searxng", response("200 OK", "application/json", body)).await;
        assert_eq!(kind, ErrorKind::ToolError);
        let expected = "SearXNG at HERE answered with something else than its JSON: ";
        assert!(text.starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off() {
    // LT-3
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"results\": [";
    let (kind, text) = failure("searxng", cut).await;
    assert_eq!(kind, ErrorKind::Unavailable);
    assert_eq!(text, "Tool 'search_web' is unavailable: SearXNG at HERE broke off its answer");
}

#[tokio::test]
async fn an_answer_without_end() {
    // LT-3
    let body = format!("{{\"results\":[],\"x\":\"{}\"}}", "x".repeat(10_000_000));
    let declared = response("200 OK", "application/json", &body);
    let undeclared = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}");
    for bytes in [declared, undeclared] {
        let (kind, text) = failure("searxng", bytes).await;
        assert_eq!(kind, ErrorKind::ToolError);
        assert_eq!(text, "SearXNG at HERE answered with more than 2097152 bytes");
    }
}

#[tokio::test]
async fn deep_answers_do_not_overflow() {
    let deep = format!("{{\"results\":{}", "[".repeat(500_000));
    let (kind, _) = failure("searxng", response("200 OK", "application/json", &deep)).await;
    assert_eq!(kind, ErrorKind::ToolError);
}

#[tokio::test]
async fn engines_that_all_failed_are_named() {
    let body = r#"{"results":[],"answers":[],"unresponsive_engines":[["google","timeout"],["bing","access denied"]]}"#;
    let (kind, text) = failure("searxng", response("200 OK", "application/json", body)).await;
    assert_eq!(kind, ErrorKind::Unavailable);
    assert_eq!(
        text,
        "Tool 'search_web' is unavailable: none of the engines behind SearXNG at HERE answered (google: timeout, bing: access denied)"
    );
}

#[tokio::test]
async fn nobody_there() {
    // LT-3, SPEC §12, network
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    for (provider, name) in
        [("searxng", "SearXNG"), ("brave", "Brave Search"), ("duckduckgo", "DuckDuckGo")]
    {
        let tool = provider_at(provider, &format!("user:pass@{address}"));
        let error = call(&tool, json!({"query": "private matter"})).await.unwrap_err();
        keeps_secrets(&error);
        assert_eq!(error.kind, ErrorKind::Unavailable);
        let expected =
            format!("Tool 'search_web' is unavailable: {name} at {address} could not be reached");
        assert_eq!(error.for_model, expected);
        assert!(error.source().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_within_the_time_limit() {
    // LT-3
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let tool = search_web(&format!(
        "search_web = {{ provider = 'searxng', url = 'http://{address}', timeout = '1.5s' }}"
    ));
    let error = call(&tool, json!({"query": "private matter"})).await.unwrap_err();
    keeps_secrets(&error);
    assert_eq!(error.kind, ErrorKind::Unavailable);
    let expected = format!(
        "Tool 'search_web' is unavailable: SearXNG at {address} did not answer within 1.5s"
    );
    assert_eq!(error.for_model, expected);
}

#[tokio::test]
async fn a_dropped_call_hangs_up() {
    // EX-3
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (asked, was_asked) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        asked.send(()).unwrap();
        // Ends when the client hangs up.
        stream.read(&mut [0]).await.unwrap_or(0)
    });
    let tool = provider_at("searxng", &address);
    let cx = CallContext::default();
    let mut search = tool.call(json!({"query": "x"}), &cx);
    tokio::select! {
        _ = &mut search => panic!("nobody answered"),
        asked = was_asked => asked.unwrap(),
    }
    drop(search);
    let rest = tokio::time::timeout(Duration::from_secs(60), server).await;
    assert_eq!(rest.unwrap().unwrap(), 0);
}
