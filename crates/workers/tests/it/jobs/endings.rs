//! What becomes of a queued call.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState};

use super::*;

// EX-1, RS-1
#[tokio::test(start_paused = true)]
async fn a_queued_call_runs_and_its_result_is_found_under_its_id() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    // Nobody is there to run it yet, and it is known all the same.
    let id = gateway.submit("gpu__write", json!({"note": "hello"})).await.unwrap();
    let waiting = gateway.look(id).await;
    assert_eq!((waiting.state, waiting.attempts), (QueueState::Queued, 0));
    assert_eq!((&*waiting.tool, waiting.caller.as_deref()), ("gpu__write", Some("ada")));
    assert!(waiting.result.is_none());

    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, ended.attempts), (QueueState::Done, 1));
    let result = ended.result.as_ref().unwrap();
    assert_eq!(result.value().unwrap().into_owned(), json!({"wrote": "hello"}));
    assert_eq!(
        (result.call_id, &*result.tool_name, result.server.as_deref()),
        (id, "gpu__write", Some("gpu"))
    );
    assert_eq!(log.times("hello"), 1);
    // The record of the gateway has the id, and says what it did.
    let records = gateway.records().await;
    assert_eq!((records.len(), records[0].start.id), (1, id));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_no_reason_to_try_again() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    for code in ["tool_error", "invalid_parameters", "denied"] {
        let args = json!({"note": code, "failures": 99, "kind": code});
        let id = gateway.submit("gpu__flaky", args).await.unwrap();
        let ended = gateway.ended(id).await;
        assert_eq!((ended.state, ended.attempts), (QueueState::Done, 1));
        assert_eq!(kind(&ended), Some(code.parse().unwrap()));
        assert_eq!(log.times(code), 1);
    }
}

// EX-4
#[tokio::test(start_paused = true)]
async fn calls_are_cancelled_before_they_run_and_while_they_run() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let id = gateway.submit("gpu__write", json!({"note": "unwanted"})).await.unwrap();
    assert!(gateway.queue.cancel(id).await.unwrap());
    assert!(!gateway.queue.cancel(id).await.unwrap(), "it is over");
    let ended = gateway.look(id).await;
    assert_eq!((ended.state, kind(&ended)), (QueueState::Cancelled, Some(ErrorKind::Cancelled)));
    assert_eq!(text(&ended), "Tool 'gpu__write' was cancelled before it ran");

    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let id = gateway.submit("gpu__hold", json!({"note": "held"})).await.unwrap();
    log.saw("held").await;
    assert_eq!(gateway.look(id).await.state, QueueState::Running);
    assert!(gateway.queue.cancel(id).await.unwrap());
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, kind(&ended)), (QueueState::Cancelled, Some(ErrorKind::Cancelled)));
    assert_eq!((log.times("unwanted"), log.times("held")), (0, 1));
    assert!(!gateway.queue.cancel(CallId::generate()).await.unwrap(), "nobody knows it");
}

#[tokio::test(start_paused = true)]
async fn progress_can_be_looked_at() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let id = gateway.submit("gpu__count", json!({"note": "steps"})).await.unwrap();
    let seen = until("all steps are seen", async || {
        let call = gateway.look(id).await;
        call.progress.filter(|step| step.progress >= 3.0)
    });
    assert_eq!(seen.await.total, Some(3.0));
    assert!(gateway.queue.cancel(id).await.unwrap());
}

// RS-5
#[tokio::test(start_paused = true)]
async fn large_arguments_and_results_come_through() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::echoes("write")).unwrap();
    let _worker = TestWorker::with(jobs(&cluster), "gpu", "one", executor, 1);
    let note = "y".repeat(3_000_000);
    let id = gateway.submit("gpu__write", json!({"note": note})).await.unwrap();
    let ended = gateway.ended(id).await;
    let result = ended.result.unwrap();
    // Bounded as any result is, and the whole is kept where it was asked for.
    assert!(result.truncated);
    let whole = gateway.executor.artifacts().get(&result.artifacts[0].id).await.unwrap().unwrap();
    assert_eq!(whole.bytes, json!({"note": note}).to_string());
    assert_eq!(log.times("nothing"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_gives_back_what_may_run_again() {
    let servers = start();
    let (cluster, first, second) = (servers.connect().await, RunLog::default(), RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = TestWorker::start(&cluster, "gpu", "one", &first);
    let id = gateway.submit("gpu__hold", json!({"note": "moved", "secs": 600})).await.unwrap();
    first.saw("moved").await;
    worker.leave().await;
    assert_eq!(gateway.look(id).await.state, QueueState::Queued);
    let _other = TestWorker::start(&cluster, "gpu", "two", &second);
    second.saw("moved").await;
    assert!(gateway.queue.cancel(id).await.unwrap());
    gateway.ended(id).await;

    let worker = TestWorker::start(&cluster, "tools", "three", &first);
    let cx = CallContext::for_caller("ada").with_idempotency_key("only-once");
    let id = gateway.submit_as("tools__hold", json!({"note": "once"}), &cx).await.unwrap();
    first.saw("once").await;
    worker.leave().await;
    let ended = gateway.look(id).await;
    assert_eq!((ended.state, kind(&ended)), (QueueState::Done, Some(ErrorKind::OutcomeUnknown)));
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_retried_and_then_fails() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    for kind in ["unavailable", "overloaded", "timeout", "internal"] {
        let args = json!({"note": kind, "failures": 2, "kind": kind});
        let id = gateway.submit("gpu__flaky", args).await.unwrap();
        let ended = gateway.ended(id).await;
        assert_eq!(
            (ended.state, ended.attempts, text(&ended)),
            (QueueState::Done, 3, "at last".to_owned())
        );
        assert_eq!(log.times(kind), 3);
    }
    let args = json!({"note": "never", "failures": 99});
    let id = gateway.submit("gpu__flaky", args.clone()).await.unwrap();
    let dead = gateway.ended(id).await;
    assert_eq!((dead.state, dead.attempts), (QueueState::Dead, 3));
    assert_eq!(
        (kind(&dead), text(&dead)),
        (Some(ErrorKind::Unavailable), "never does not work yet".to_owned())
    );
    assert_eq!(log.times("never"), 3);
    let figures = gateway.queue.figures().await.unwrap();
    assert_eq!(figures.iter().map(|figures| figures.dead).sum::<u64>(), 1);
}
