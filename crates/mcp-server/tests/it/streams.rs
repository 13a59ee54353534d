//! Streams of the old era: messages before the answer, clients that hang up and come back.

use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpBody, McpCaller};
use switchboard_runtime::toolcall::HumanDuration;
use switchboard_testkit::tools::Fake;

use crate::test_server::{TestResponse, TestServer, events, in_session, request};

/// Reads a stream until it has shown so many messages, and hangs up.
async fn read(body: &mut McpBody, count: usize) -> Vec<(String, Value)> {
    let mut text = String::new();
    while events(&text).len() < count {
        let frame = body.frame().await.expect("the stream ended").unwrap();
        text.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    events(&text)
}

fn counting(steps: u64) -> Value {
    json!({"name": "count", "arguments": {"steps": steps}, "_meta": {"progressToken": "p"}})
}

// GW-1: progress in order and before the result.
#[tokio::test]
async fn progress_comes_before_the_answer() {
    let test = TestServer::new();
    let session = test.session().await;
    let answer = test.ask(&session, "tools/call", counting(50)).await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let messages = answer.messages();
    let steps: Vec<_> = messages.iter().map(|message| &message["params"]["progress"]).collect();
    let expected: Vec<_> = (1..=50).map(|step| json!(step)).collect();
    assert_eq!(steps[..50], expected.iter().collect::<Vec<_>>()[..]);
    assert_eq!(messages[0]["params"]["progressToken"], "p");
    assert_eq!(messages[50]["result"]["content"][0]["text"], "counted");
    assert_eq!(messages.len(), 51);
    // Who does not ask for progress, or takes no stream, gets one piece.
    let plain = json!({"name": "count"});
    let answer = test.ask(&session, "tools/call", plain).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let mut headers = in_session(&session);
    headers[1].1 = "application/json";
    let answer = test.post(&headers, request(1, "tools/call", counting(3))).await;
    assert_eq!(answer.last()["result"]["content"][0]["text"], "counted");
}

// GW-1: who hangs up in mid-answer does not end the call, and gets the rest.
#[tokio::test]
async fn a_broken_stream_is_resumed() {
    let test = TestServer::new();
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let gate = go.clone();
    let gated = Fake::new("gated", move |_, cx| {
        let gate = gate.clone();
        async move {
            let report = |progress| {
                let total = None;
                let message = None;
                cx.progress.report(switchboard_runtime::toolcall::ProgressUpdate {
                    progress,
                    total,
                    message,
                });
            };
            report(1.0);
            gate.notified().await;
            report(2.0);
            report(3.0);
            Ok(switchboard_runtime::toolcall::ToolOutput::Value(json!("through")))
        }
    });
    test.executor.tools().add(gated).unwrap();
    let session = test.session().await;
    let call = json!({"name": "gated", "_meta": {"progressToken": 7}});
    let body = request(5, "tools/call", call);
    let headers = in_session(&session);
    let caller = McpCaller::default();
    let response = test.send(Method::POST, &headers, body, &caller).await;
    let mut body = response.into_body();
    let first = read(&mut body, 1).await;
    assert_eq!(first[0].1["params"]["progress"], 1);
    drop(body);
    go.notify_one();
    let resume = async |last: &str| {
        let mut headers = in_session(&session);
        headers.push(("last-event-id", last));
        test.send(Method::GET, &headers, "", &caller).await
    };
    let rest = TestResponse::of(resume(&first[0].0).await).await;
    let rest = rest.messages();
    assert_eq!(rest[0]["params"]["progress"], 2);
    assert_eq!(rest[1]["params"]["progress"], 3);
    assert_eq!((&rest[2]["id"], rest.len()), (&json!(5), 3));
    // Once more, from its very beginning: it is kept for a while.
    let stream = first[0].0.split_once('-').unwrap().0;
    let again = TestResponse::of(resume(&format!("{stream}-0")).await).await;
    assert_eq!(again.messages().len(), 4);
    for unknown in ["99-1", "nonsense", "1-x", ""] {
        assert_eq!(resume(unknown).await.status(), StatusCode::BAD_REQUEST, "{unknown}");
    }
}

// GW-1: hanging up before the answer does not cancel a call of a session.
#[tokio::test(start_paused = true)]
async fn hanging_up_is_not_cancelling() {
    let test = TestServer::new();
    let session = test.session().await;
    let call = request(1, "tools/call", json!({"name": "wait", "arguments": {"secs": 2}}));
    let headers = in_session(&session);
    let caller = McpCaller::default();
    tokio::select! {
        _ = test.send(Method::POST, &headers, call, &caller) => panic!("it takes 2 s"),
        () = test.witness.saw("begun") => {}
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(test.witness.seen(), ["begun", "finished"]);
}

// GW-1: a slow answer becomes a stream, which shows signs of life.
#[tokio::test(start_paused = true)]
async fn a_slow_answer_becomes_a_stream() {
    let seconds = |seconds| HumanDuration(Duration::from_secs(seconds));
    let config = Config { stream_after: seconds(2), keep_alive: seconds(5), ..Config::default() };
    let test = TestServer::with(config);
    let session = test.session().await;
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    for answer in
        [test.ask(&session, "tools/call", call.clone()).await, test.alone("tools/call", call).await]
    {
        assert_eq!(answer.headers["content-type"], "text/event-stream");
        assert_eq!(answer.last()["result"]["content"][0]["text"], "done");
        let alive = answer.text.lines().filter(|line| *line == ":").count();
        assert!(alive >= 2, "{}", answer.text);
    }
}

// GW-1: the stream of a session tells of changes, debounced, and keeps what came before it was opened.
#[tokio::test(start_paused = true)]
async fn changes_are_told_once_they_have_settled() {
    let test = TestServer::new();
    let session = test.session().await;
    let caller = McpCaller::default();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let headers = in_session(&session);
    let response = test.send(Method::GET, &headers, "", &caller).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let add = |name: &str| test.executor.tools().add(Fake::answers(name, json!(1))).unwrap();
    ["a", "b", "c"].into_iter().for_each(add);
    let told = read(&mut body, 1).await;
    assert_eq!(told[0].1["method"], "notifications/tools/list_changed");
    drop(body);
    tokio::time::sleep(Duration::from_secs(1)).await;
    add("d");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut body = test.send(Method::GET, &headers, "", &caller).await.into_body();
    assert_eq!(read(&mut body, 1).await.len(), 1);
}
