//! Requests, answers, and requests that are taken back.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use switchboard_mcp_client::{Failure, Transport};

use super::support::{Directory, Server, bounded, until};

// MC-1: progress in order and before the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_comes_in_order_and_before_the_result() {
    let server = Server::start("progress=100");
    server.echo("done").await;
    let heard = server.heard.all();
    let steps: Vec<_> = (1..=100).map(|step| format!("\"message\":\"step {step}\"")).collect();
    assert_eq!(heard.len(), steps.len());
    assert!(heard.iter().zip(&steps).all(|(heard, step)| heard.contains(step)), "{heard:?}");
    server.close().await;
}

// MC-1: many at once, each with its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_gets_its_own_answer() {
    let server = Server::start("");
    let calls = (0..200).map(|number| {
        let server = &server;
        async move {
            let text = format!("{number} {}", "x".repeat(number * 50));
            assert_eq!(server.echo(&text).await, text);
        }
    });
    futures_util::future::join_all(calls).await;
    server.close().await;
}

#[tokio::test]
async fn a_servers_error_is_told_apart() {
    let server = Server::start("rpc-error");
    let failure = bounded(server.call("echo", json!({}))).await.unwrap_err();
    let Failure::Rpc(error) = failure else { panic!("{failure}") };
    assert_eq!((error.code, error.message.as_str()), (-32000, "the device is on fire"));
    server.close().await;
}

/// The messages that the server has got so far.
fn received(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

// MC-1: cancellation reaches the server, once, with the request's id.
#[tokio::test]
async fn a_dropped_call_is_taken_back() {
    let directory = Directory::new("taken-back");
    let log = directory.file("input");
    let server = Server::start(&format!("never-answers-tools-call,logs-input={}", log.display()));
    let call = server.call("echo", json!({}));
    tokio::select! {
        _ = call => panic!("it answered"),
        () = until("the call is there", || !received(&log).is_empty()) => {}
    }
    until("it is taken back", || received(&log).len() == 2).await;
    let cancelled = &received(&log)[1];
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], 1);
    assert!(cancelled.get("id").is_none());
    bounded(server.request("ping", &json!({}))).await.unwrap();
    server.close().await;
}

// MC-1: `initialize` must not be cancelled.
#[tokio::test]
async fn what_cannot_be_taken_back_is_just_forgotten() {
    let directory = Directory::new("forgotten");
    let log = directory.file("input");
    let server = Server::start(&format!("silent,logs-input={}", log.display()));
    let params = json!({});
    let call = server.request("initialize", &params);
    tokio::select! {
        _ = call => panic!("it answered"),
        () = until("the request is there", || !received(&log).is_empty()) => {}
    }
    bounded(server.transport.notify("notifications/last", None)).await.unwrap();
    until("the last is there", || received(&log).len() >= 2).await;
    assert_eq!(received(&log)[1]["method"], "notifications/last");
    server.close().await;
}

// MC-1: a late answer is discarded and disturbs nobody.
#[tokio::test]
async fn a_late_answer_is_discarded() {
    let server = Server::start("answers-late=300");
    let early = tokio::time::timeout(Duration::from_millis(100), server.call("echo", json!({})));
    assert!(early.await.is_err());
    // The answer to the first call comes while the second one waits.
    assert_eq!(server.echo("second").await, "second");
    server.close().await;
}
