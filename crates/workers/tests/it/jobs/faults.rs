//! Lost answers, deadlines, and servers that are away.

use serde_json::json;
use switchboard_runtime::QueueState;
use switchboard_workers::{
    memory::{MemoryFault, MemoryOperation},
    transport::Ack,
};
use tokio::time::{Instant, sleep};

use super::*;

/// A fault for the operations that `is_hit` names, so many times.
fn first(
    mut times: usize,
    fault: MemoryFault,
    is_hit: impl Fn(MemoryOperation) -> bool + Send + 'static,
) -> impl FnMut(MemoryOperation) -> MemoryFault + Send + 'static {
    move |operation| match times > 0 && is_hit(operation) {
        true => {
            times -= 1;
            fault
        }
        false => MemoryFault::None,
    }
}

fn once(key: &str) -> CallContext {
    CallContext::for_caller("ada").with_idempotency_key(key)
}

#[tokio::test(start_paused = true)]
async fn a_lost_acknowledgement_runs_nothing_twice() {
    for fault in [MemoryFault::Refuse, MemoryFault::LoseAnswer] {
        let servers = start();
        servers.servers.set_faults(first(1, fault, |op| op == MemoryOperation::Ack(Ack::Done)));
        let (cluster, log) = (servers.connect().await, RunLog::default());
        let gateway = TestGateway::new(&cluster);
        let _worker = TestWorker::mortal(&cluster, "tools", "one", &log);
        let args = json!({"note": "n"});
        let id = gateway.submit_as("tools__write", args, &once("k")).await.unwrap();
        assert_eq!(gateway.ended(id).await.state, QueueState::Done);
        // It is delivered again, found to be over, and leaves the queue.
        until("the queue is empty", async || {
            gateway.queue.figures().await.unwrap().is_empty().then_some(())
        })
        .await;
        assert_eq!((log.times("n"), gateway.look(id).await.attempts), (1, 1), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_is_written_once_although_answers_are_lost() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let lost = |op| matches!(op, MemoryOperation::Enqueue);
    servers.servers.set_faults(first(2, MemoryFault::LoseAnswer, lost));
    let id = gateway.submit("gpu__write", json!({"note": "n"})).await.unwrap();
    assert_eq!(gateway.queue.figures().await.unwrap()[0].waiting, 1, "stored once");
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    assert_eq!(gateway.ended(id).await.attempts, 1);

    // The end of a call is written by the second of these.
    let hold = json!({"note": "m", "secs": 1.0});
    let id = gateway.submit_as("gpu__hold", hold, &once("m")).await.unwrap();
    log.saw("m").await;
    servers
        .servers
        .set_faults(first(1, MemoryFault::LoseAnswer, |op| op == MemoryOperation::Write));
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, text(&ended), ended.attempts), (QueueState::Done, "held".into(), 1));
    assert_eq!((log.times("n"), log.times("m")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_first_user_died_before_it_queued_the_call_is_free_for_the_same_call() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateways = [TestGateway::new(&cluster), TestGateway::new(&servers.connect().await)];
    servers
        .servers
        .set_faults(first(usize::MAX, MemoryFault::Refuse, |op| op == MemoryOperation::Enqueue));
    let args = json!({"note": "n"});
    let failed = gateways[0].submit_as("tools__write", args.clone(), &once("k")).await.unwrap_err();
    assert_eq!(failed.error_kind(), Some(ErrorKind::OutcomeUnknown));
    servers.servers.set_faults(|_| MemoryFault::None);
    let id = gateways[1].submit_as("tools__write", args.clone(), &once("k")).await.unwrap();
    assert!(failed.text().contains(&id.to_string()), "the same call: {}", failed.text());
    let _worker = TestWorker::start(&cluster, "tools", "one", &log);
    assert_eq!(gateways[0].ended(id).await.state, QueueState::Done);
    assert_eq!(gateways[0].submit_as("tools__write", args, &once("k")).await.unwrap(), id);
    assert_eq!(log.times("n"), 1);
}

// EX-3
#[tokio::test(start_paused = true)]
async fn each_attempt_has_the_time_that_the_caller_gave() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let mut cx = CallContext::for_caller("ada");
    cx.timeout = Some(Duration::from_secs(7));
    let begun = Instant::now();
    let id = gateway.submit_as("gpu__hold", json!({"note": "slow"}), &cx).await.unwrap();
    let dead = gateway.ended(id).await;
    assert_eq!((dead.state, kind(&dead)), (QueueState::Dead, Some(ErrorKind::Timeout)));
    assert_eq!((dead.attempts, log.times("slow")), (3, 3));
    let took = begun.elapsed();
    assert!((21.0..23.0).contains(&took.as_secs_f64()), "{took:?}");
}

// EX-4
#[tokio::test(start_paused = true)]
async fn a_call_whose_worker_died_can_be_cancelled() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = TestWorker::mortal(&cluster, "gpu", "one", &log);
    let id = gateway.submit("gpu__hold", json!({"note": "n"})).await.unwrap();
    log.saw("n").await;
    drop(worker);
    assert!(gateway.queue.cancel(id).await.unwrap());
    assert!(!gateway.look(id).await.state.is_over(), "its worker may still be at it");
    let _other = TestWorker::mortal(&cluster, "gpu", "two", &log);
    let ended = gateway.ended(id).await;
    assert_eq!(ended.state, QueueState::Cancelled);
    assert_eq!(text(&ended), "Tool 'gpu__hold' was cancelled; side effects may have happened");
    assert_eq!(log.times("n"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_sign_of_life_is_shown_as_queued() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let mut cx = CallContext::for_caller("ada");
    cx.timeout = Some(Duration::from_secs(3600));
    let id = gateway.submit_as("gpu__hold", json!({"note": "n", "secs": 3600}), &cx).await.unwrap();
    log.saw("n").await;
    sleep(Duration::from_secs(400)).await;
    assert_eq!(gateway.look(id).await.state, QueueState::Running);
    drop(worker);
    sleep(Duration::from_secs(200)).await;
    assert_eq!(gateway.look(id).await.state, QueueState::Running, "not for long enough");
    sleep(Duration::from_secs(200)).await;
    assert_eq!(gateway.look(id).await.state, QueueState::Queued);
}

// MC-3
#[tokio::test(start_paused = true)]
async fn a_result_waits_for_servers_that_come_back() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "tools", "one", &log);
    let args = json!({"note": "n", "secs": 1.0});
    let id = gateway.submit_as("tools__hold", args, &once("k")).await.unwrap();
    log.saw("n").await;
    servers.servers.set_online(false);
    let refused = gateway.submit("gpu__write", json!({"note": "during"})).await.unwrap_err();
    assert_eq!(refused.error_kind(), Some(ErrorKind::Unavailable));
    sleep(Duration::from_secs(60)).await;
    servers.servers.set_online(true);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, text(&ended), log.times("n")), (QueueState::Done, "held".into(), 1));
}
