//! Our own client against our own server, both eras, over HTTP and stdio: a gateway before a gateway.

use axum::{Router, body::Body, extract::Request, routing::any};
use serde_json::{Value, json};
use switchboard_mcp_client::{Protocol, ServerConfig, Share};
use switchboard_mcp_server::{Config, McpCaller, Server};
use switchboard_runtime::toolcall::{CallContext, ErrorKind, Progress, ToolCall, ToolError};
use switchboard_testkit::{parts::example, tools::Fake};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    test_server::TestServer,
    upstream::{Upstream, at, configured},
};

/// Serves over HTTP until it is dropped.
async fn mounted(server: Server) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let handle = move |request: Request| {
        let server = server.clone();
        async move { server.handle(request, &McpCaller::default()).await.map(Body::new) }
    };
    let router = Router::new().route("/mcp", any(handle));
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, AbortOnDropHandle::new(task))
}

// GW-1, MC-1
#[tokio::test]
async fn over_http_in_both_eras() {
    for protocol in [Protocol::Legacy, Protocol::Modern, Protocol::Auto] {
        let inner = TestServer::new();
        let (url, _task) = mounted(inner.server.clone()).await;
        let (outer, servers) = configured([("in", at(&url, protocol))], Config::default()).await;
        let executor = &outer.executor;
        let echoed = executor.call("in__echo", json!({"text": "hé"})).await;
        assert_eq!(echoed.value().unwrap()["structuredContent"], json!({"text": "hé"}));
        assert_eq!(executor.call("in__fail", json!({})).await.text(), "no more oil");
        let counted = counted(&outer).await;
        assert_eq!(counted, ["1", "2", "3", "counted"]);
        // A caller who gives up reaches the innermost tool.
        let cx = CallContext::default();
        let args = json!({"secs": 20}).as_object().cloned().unwrap();
        let call = ToolCall::new("in__wait", args);
        let cancel = async {
            inner.witness.saw("begun").await;
            cx.cancel.cancel();
        };
        tokio::join!(executor.execute(call, &cx), cancel);
        until(|| inner.witness.seen().contains(&"dropped and told")).await;
        // A tool that is new within is soon known without.
        let new = Fake::answers("new", json!("new"));
        inner.executor.tools().add(new).unwrap();
        until(|| executor.tools().lookup("in__new").is_ok()).await;
        servers.close().await;
    }
}

// RS-2, RS-4: through a gateway before a gateway, an outage stays one, and its text what it was.
#[tokio::test]
async fn kinds_of_failures_pass_in_both_eras() {
    let cases = [
        (ErrorKind::Unavailable, ErrorKind::Unavailable),
        (ErrorKind::Timeout, ErrorKind::Timeout),
        (ErrorKind::InvalidParameters, ErrorKind::InvalidParameters),
        (ErrorKind::Overloaded, ErrorKind::ToolError),
        (ErrorKind::ToolError, ErrorKind::ToolError),
    ];
    for protocol in [Protocol::Legacy, Protocol::Modern] {
        for (kind, expected) in cases {
            let inner = TestServer::new();
            let fails = move |_, _| async move { Err(ToolError::new(kind, "the stick is gone")) };
            inner.executor.tools().add(Fake::new("fails", fails)).unwrap();
            let (inner_url, _inner) = mounted(inner.server.clone()).await;
            let middle = [("in", at(&inner_url, protocol))];
            let (middle, middle_servers) = configured(middle, Config::default()).await;
            let (middle_url, _middle) = mounted(middle.server.clone()).await;
            let outer = [("mid", at(&middle_url, protocol))];
            let (outer, outer_servers) = configured(outer, Config::default()).await;
            for (test, name) in [(&middle, "in__fails"), (&outer, "mid__in__fails")] {
                let result = test.executor.call(name, json!({})).await;
                let seen = (result.error_kind(), result.text());
                assert_eq!(seen, (Some(expected), "the stick is gone".to_owned()), "{kind} {name}");
            }
            outer_servers.close().await;
            middle_servers.close().await;
        }
    }
}

/// What `count` reports, and then answers.
async fn counted(test: &TestServer) -> Vec<String> {
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = heard.clone();
    let progress = Progress::to(move |update| {
        notes.lock().unwrap().push(update.progress.to_string());
    });
    let cx = CallContext { progress, ..CallContext::default() };
    let call = ToolCall::new("in__count", serde_json::Map::new());
    let result = test.executor.execute(call, &cx).await;
    let mut heard = heard.lock().unwrap().clone();
    heard.push(result.text());
    heard
}

// GW-3: a question goes from the innermost tool through both servers to the client, whatever is spoken in between.
#[tokio::test]
async fn a_question_passes_through_two_servers() {
    for protocol in [Protocol::Legacy, Protocol::Modern] {
        let inner = TestServer::new();
        let (url, _task) = mounted(inner.server.clone()).await;
        let (outer, servers) = configured([("in", at(&url, protocol))], Config::default()).await;
        let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        let call = json!({"name": "in__ask", "arguments": {"keys": ["a"]}, "_meta": meta});
        let asked = outer.alone("tools/call", call.clone()).await.last()["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["params"], json!({"message": "a"}));
        let mut again = call;
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({key: {"action": "accept"}});
        let done = outer.alone("tools/call", again).await.last()["result"].clone();
        assert_eq!(done["structuredContent"], json!({"a": {"action": "accept"}}), "{done}");
        servers.close().await;
    }
}

// GW-3: each client session has its own session at a server that opens them, and it ends with it.
#[tokio::test]
async fn each_session_has_its_own_behind_us() {
    let inner = TestServer::new();
    let (url, _task) = mounted(inner.server.clone()).await;
    let (outer, servers) =
        configured([("in", at(&url, Protocol::Legacy))], Config::default()).await;
    assert_eq!(inner.server.sessions(), 1);
    let sessions = [outer.session().await, outer.session().await];
    for _ in 0..2 {
        for session in &sessions {
            let said = outer.ask(session, "tools/call", json!({"name": "in__say"})).await.last();
            assert_eq!(said["result"]["content"][0]["text"], "hello");
        }
    }
    assert_eq!((inner.server.sessions(), servers.get("in").unwrap().copies()), (3, 2));
    // Who has no session shares the first one.
    outer.alone("tools/call", json!({"name": "in__say"})).await;
    assert_eq!(inner.server.sessions(), 3);
    let headers = crate::test_server::in_session(&sessions[0]);
    outer.send(http::Method::DELETE, &headers, "", &McpCaller::default()).await;
    until(|| inner.server.sessions() == 2).await;
    servers.close().await;
    assert_eq!(inner.server.sessions(), 0);
}

// GW-3: with `share = "session"` each client session has its own process.
#[tokio::test]
async fn each_session_has_its_own_process() {
    let upstream = Upstream::start("one", true).await;
    let config = ServerConfig { share: Share::Session, ..child(Protocol::Auto, &upstream) };
    let (outer, servers) = configured([("in", config)], Config::default()).await;
    let server = servers.get("in").unwrap();
    let sessions = [outer.session().await, outer.session().await];
    for session in &sessions {
        let said = outer.ask(session, "tools/call", json!({"name": "in__up__t"})).await.last();
        assert_eq!(said["result"]["content"][0]["text"], "one");
    }
    // Each process of ours asked the server behind it what it has.
    assert_eq!((server.copies(), upstream.count("tools/list")), (2, 3));
    outer.server.close();
    assert_eq!(server.copies(), 0);
    servers.close().await;
}

async fn until(happened: impl Fn() -> bool) {
    while !happened() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// A child process of ours before a server.
fn child(protocol: Protocol, upstream: &Upstream) -> ServerConfig {
    let behind: Value = json!({"up": {"url": upstream.url}});
    ServerConfig {
        command: Some(example("gateway").into_os_string().into_string().unwrap()),
        args: vec!["--stdio".to_owned(), "--servers".to_owned(), behind.to_string()],
        protocol,
        ..ServerConfig::default()
    }
}

// GW-1, MC-1, MC-7: over a child's pipes.
#[tokio::test]
async fn over_stdio_in_both_eras() {
    let upstream = Upstream::start("one", false).await;
    for protocol in [Protocol::Legacy, Protocol::Modern, Protocol::Auto] {
        let config = child(protocol, &upstream);
        let (test, servers) = configured([("in", config)], Config::default()).await;
        let called = test.executor.call("in__up__t", json!({})).await;
        assert_eq!(called.text(), "one");
        let read = test.alone("resources/read", json!({"uri": "one://one"})).await.last();
        assert_eq!(read["result"]["contents"][0]["text"], "one");
        servers.close().await;
    }
}
