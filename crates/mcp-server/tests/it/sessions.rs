//! Sessions of the old era.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::toolcall::HumanDuration;
use tokio::time::sleep;

use crate::test_server::{LEGACY_HEADERS, TestResponse, TestServer, in_session, request, sees};

// GW-1
#[tokio::test]
async fn a_revision_is_agreed_on() {
    let test = TestServer::new();
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {}});
        let answer = test.post(LEGACY_HEADERS, request(1, "initialize", params)).await;
        let result = answer.last()["result"].clone();
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "switchboard");
        assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}}));
    }
}

// GW-1, EX-1
#[tokio::test]
async fn tools_are_listed_and_called() {
    let test = TestServer::new();
    let session = test.session().await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(test.post(&in_session(&session), note).await.status, StatusCode::ACCEPTED);
    let ping = test.ask(&session, "ping", json!({})).await;
    assert_eq!(ping.last()["result"], json!({}));
    let call = async |name: &str, arguments: serde_json::Value| {
        let params = json!({"name": name, "arguments": arguments});
        let answer = test.ask(&session, "tools/call", params).await;
        assert_eq!(answer.headers["content-type"], "application/json");
        answer.last()
    };
    let said = call("say", json!({})).await;
    assert_eq!(said["result"], json!({"content": [{"type": "text", "text": "hello"}]}));
    let echoed = call("echo", json!({"text": "hé"})).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"text": "hé"}));
    // §12: what fails is a result, in the contract's words.
    let failed = call("fail", json!({})).await;
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["content"][0]["text"], "no more oil");
    let invalid = call("echo", json!({})).await;
    let text = "Invalid parameters: missing 'text'. Required parameters: text (string)";
    assert_eq!(invalid["result"]["content"][0]["text"], text);
    // What is not there is an error of the protocol.
    let unknown = call("nobody", json!({})).await;
    assert_eq!(unknown["error"], json!({"code": -32602, "message": "Tool 'nobody' not found"}));
    let unknown = call("nowhere__tool", json!({})).await;
    let text = "Unknown MCP server 'nowhere' in tool name 'nowhere__tool'";
    assert_eq!(unknown["error"]["message"], text);
    let wrong = test.ask(&session, "tools/call", json!({"name": "say", "arguments": [1]})).await;
    assert_eq!(wrong.refusal(), (200, -32602));
}

// RS-3, RS-5, RS-6
#[tokio::test]
async fn only_text_is_cut_and_nothing_is_dropped() {
    let test = TestServer::new();
    let session = test.session().await;
    let answer = test.ask(&session, "tools/call", json!({"name": "rich"})).await;
    let result = answer.last()["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < 50_400 && text.contains("read_result"), "{}", text.len());
    assert_eq!(result["content"][1]["data"], "AAAA");
    assert_eq!(result["content"][2], json!({"type": "hologram"}));
    assert_eq!(result["structuredContent"]["big"].as_str().unwrap().len(), 60_000);
    assert_eq!(result["_meta"], json!({"vendor": 1}));
    assert!(answer.text.contains(r#""x-vendor":[1.0]"#));
    assert_eq!(result.get("resultType"), None);
}

// GW-2
#[tokio::test]
async fn a_session_is_its_callers_own() {
    let test = TestServer::new();
    let session = test.open("2025-11-25", json!({}), &sees("s")).await;
    let body = request(1, "tools/list", json!({}));
    let ask = async |method: Method, caller: McpCaller| {
        let response = test.send(method, &in_session(&session), body.clone(), &caller).await;
        response.status().as_u16()
    };
    assert_eq!(ask(Method::POST, McpCaller::default()).await, 404);
    assert_eq!(ask(Method::GET, sees("other")).await, 404);
    assert_eq!(ask(Method::DELETE, McpCaller::default()).await, 404);
    assert_eq!(ask(Method::POST, sees("s")).await, 200);
    assert_eq!(ask(Method::DELETE, sees("s")).await, 204);
    assert_eq!(ask(Method::POST, sees("s")).await, 404);
    assert_eq!(test.server.sessions(), 0);
}

// GW-1: sessions are bounded in number, and let go when nobody uses them.
#[tokio::test(start_paused = true)]
async fn sessions_are_bounded_and_reaped() {
    let idle = HumanDuration(Duration::from_secs(60));
    let config = Config { max_sessions: 3, idle_session: idle, ..Config::default() };
    let test = TestServer::with(config);
    let first = test.session().await;
    let mut others = Vec::new();
    for _ in 0..3 {
        sleep(Duration::from_secs(1)).await;
        others.push(test.session().await);
    }
    // The longest unused gave way.
    assert_eq!(test.ask(&first, "ping", json!({})).await.status, StatusCode::NOT_FOUND);
    assert_eq!(test.server.sessions(), 3);
    sleep(Duration::from_secs(45)).await;
    assert_eq!(test.ask(&others[1], "ping", json!({})).await.status, StatusCode::OK);
    sleep(Duration::from_secs(45)).await;
    assert_eq!(test.server.sessions(), 1);
    // A call under way keeps its session.
    let call = json!({"name": "wait", "arguments": {"secs": 25}});
    let (_, ()) = tokio::join!(test.ask(&others[1], "tools/call", call), async {
        test.witness.saw("begun").await;
        assert_eq!(test.server.sessions(), 1);
    });
    sleep(Duration::from_secs(120)).await;
    assert_eq!(test.server.sessions(), 0);
}

// GW-5: who opens many sessions loses its own, and keeps nobody out.
#[tokio::test(start_paused = true)]
async fn one_caller_does_not_push_out_the_sessions_of_others() {
    let test = TestServer::with(Config { max_sessions: 4, ..Config::default() });
    let [quiet, greedy, late] = ["quiet", "greedy", "late"].map(McpCaller::named);
    let open = async |caller: &McpCaller| test.open("2025-11-25", json!({}), caller).await;
    let ping = async |session: &str, caller: &McpCaller| {
        let body = request(1, "ping", json!({}));
        test.send(Method::POST, &in_session(session), body, caller).await.status()
    };
    let first = open(&quiet).await;
    let mut last = String::new();
    for _ in 0..10 {
        sleep(Duration::from_secs(1)).await;
        last = open(&greedy).await;
    }
    assert_eq!(test.server.sessions(), 4);
    assert_eq!(ping(&first, &quiet).await, StatusCode::OK);
    assert_eq!(ping(&last, &greedy).await, StatusCode::OK);
    // Streams keep all of the greedy one's in use, and still others come in.
    let test = TestServer::with(Config { max_sessions: 3, ..Config::default() });
    let mut streams = Vec::new();
    for _ in 0..3 {
        let session = test.open("2025-11-25", json!({}), &greedy).await;
        streams.push(test.send(Method::GET, &in_session(&session), "", &greedy).await);
    }
    let full = request(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let refused = test.send(Method::POST, LEGACY_HEADERS, full, &greedy).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    test.open("2025-11-25", json!({}), &late).await;
    assert_eq!(test.server.sessions(), 3);
}

// GW-8
#[tokio::test]
async fn a_client_is_recorded_by_the_name_it_gives_itself() {
    let test = TestServer::new();
    let recorded = async || {
        let calls = test.executor.history().recent(1).await.unwrap();
        calls[0].start.client.as_deref().map(str::to_owned)
    };
    let call = json!({"name": "say", "arguments": {}});
    let session = test.session().await;
    test.ask(&session, "tools/call", call.clone()).await;
    assert_eq!(recorded().await.as_deref(), Some("test"));
    let info = |name: String| {
        let mut call = call.clone();
        call["_meta"] = json!({"io.modelcontextprotocol/clientInfo": {"name": name}});
        call
    };
    test.alone("tools/call", info("Inspector \u{1b}[31m\u{202e}é".to_owned())).await;
    assert_eq!(recorded().await.as_deref(), Some("Inspector _[31m_é"));
    test.alone("tools/call", info("n".repeat(5000))).await;
    assert_eq!(recorded().await.unwrap().len(), 64);
    test.alone("tools/call", info(" ".to_owned())).await;
    assert_eq!(recorded().await, None);
}

// EX-4: cancelling reaches the one call.
#[tokio::test(start_paused = true)]
async fn a_client_cancels() {
    let test = TestServer::new();
    let session = test.session().await;
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    let cancel = async {
        test.witness.saw("begun").await;
        for id in [999, 1] {
            let params = json!({"requestId": id});
            let note =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            let told = test.post(&in_session(&session), note.to_string()).await;
            assert_eq!(told.status, StatusCode::ACCEPTED);
        }
    };
    let (answer, ()) = tokio::join!(test.ask(&session, "tools/call", call), cancel);
    assert_eq!((answer.status, &*answer.text), (StatusCode::ACCEPTED, ""));
    test.witness.saw("dropped and told").await;
}

// GW-4: closing the server ends what is under way.
#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_its_calls_along() {
    let test = TestServer::new();
    let session = test.session().await;
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    let end = async {
        test.witness.saw("begun").await;
        let headers = in_session(&session);
        test.send(Method::DELETE, &headers, "", &McpCaller::default()).await
    };
    let (_, gone) = tokio::join!(test.ask(&session, "tools/call", call), end);
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    test.witness.saw("dropped and told").await;
    assert_eq!(TestResponse::of(gone).await.text, "");
}

// GW-1: batches are part of one revision only.
#[tokio::test]
async fn batches_where_the_revision_has_them() {
    let test = TestServer::new();
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "say"}},
    ]);
    let session = test.open("2025-03-26", json!({}), &McpCaller::default()).await;
    let answer = test.post(&in_session(&session), batch.to_string()).await;
    let answers = answer.last();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(answers[1]["result"]["content"][0]["text"], "hello");
    let only_notes = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    let answer = test.post(&in_session(&session), only_notes.to_string()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let session = test.session().await;
    let answer = test.post(&in_session(&session), batch.to_string()).await;
    assert_eq!(answer.refusal(), (400, -32600));
}

// GW-7
#[tokio::test]
async fn a_batch_that_is_too_large_does_not_run() {
    let test = TestServer::new();
    let session = test.open("2025-03-26", json!({}), &McpCaller::default()).await;
    let batch = |size: u64| {
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "say"}});
        Value::Array((0..size).map(call).collect()).to_string()
    };
    let answer = test.post(&in_session(&session), batch(51)).await;
    assert_eq!(answer.refusal(), (400, -32600));
    let text = answer.last()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(text, "a batch has at most 50 messages, not 51");
    assert!(test.executor.history().recent(100).await.unwrap().is_empty());
    let answer = test.post(&in_session(&session), batch(50)).await;
    assert_eq!(answer.last().as_array().unwrap().len(), 50);
    assert_eq!(test.executor.history().recent(100).await.unwrap().len(), 50);
}
