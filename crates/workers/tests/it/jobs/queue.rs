//! The queue itself: one call for each slot, and calls that nobody here can run.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState};
use switchboard_workers::jobs;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_worker_takes_no_more_than_it_can_run() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _busy = TestWorker::with(jobs(&cluster), "gpu", "one", tools(&log), 1);
    let held = gateway.submit("gpu__hold", json!({"note": "held"})).await.unwrap();
    log.saw("held").await;
    let id = gateway.submit("gpu__write", json!({"note": "free"})).await.unwrap();
    // Whoever has a slot gets it, and the busy one has not put it aside: it is run once, in the first attempt.
    let other = RunLog::default();
    let _free = TestWorker::with(jobs(&cluster), "gpu", "two", tools(&other), 1);
    assert_eq!(gateway.ended(id).await.attempts, 1);
    assert_eq!((log.times("free"), other.times("free")), (0, 1));
    assert_eq!(gateway.look(held).await.state, QueueState::Running);
    assert!(gateway.queue.cancel(held).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_worker_that_has_its_tool() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _without = TestWorker::start(&cluster, "gpu", "one", &log);
    let id = gateway.submit("gpu__gone", json!({})).await.unwrap();
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::answers("gone", json!("here"))).unwrap();
    let _with = TestWorker::with(jobs(&cluster), "gpu", "two", executor, 1);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.attempts, text(&ended)), (1, "here".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_calls_until_some_have_ended() {
    let servers = start();
    let jobs = jobs::Config { max_queued: 2, ..servers.jobs() };
    let (cluster, log) = (servers.connect_with(jobs).await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let first = gateway.submit("gpu__write", json!({"note": "1"})).await.unwrap();
    gateway.submit("gpu__write", json!({"note": "2"})).await.unwrap();
    let cx = CallContext { idempotency_key: Some("3".into()), ..CallContext::default() };
    let third = async || gateway.submit_as("gpu__write", json!({"note": "3"}), &cx).await;
    let refused = third().await.unwrap_err();
    assert_eq!(refused.error_kind(), Some(ErrorKind::Overloaded));
    let text =
        "Tool 'gpu__write' was not queued: too many calls of this tool are queued; try again later";
    assert_eq!(refused.text(), text);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    gateway.ended(first).await;
    // The key is still free for the same call.
    let id = third().await.unwrap();
    gateway.ended(id).await;
    assert_eq!(log.times("3"), 1);
}
