//! Deaths: of workers in mid-call, of whoever asked, and of the broker.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState};

use super::*;

#[tokio::test]
async fn a_call_whose_worker_dies_is_run_by_another() {
    let servers = start();
    let (cluster, first, second) = (servers.connect().await, RunLog::default(), RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = TestWorker::mortal(&cluster, "gpu", "one", &first);
    let id = gateway.submit("gpu__hold", json!({"note": "n", "secs": 0.5})).await.unwrap();
    first.saw("n").await;
    drop(worker);
    let _other = TestWorker::mortal(&cluster, "gpu", "two", &second);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, text(&ended)), (QueueState::Done, "held".to_owned()));
    assert!(ended.attempts >= 2 && first.times("n") == 1 && second.times("n") >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_outlive_the_gateway_and_the_broker() {
    let mut servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let mut calls = Vec::new();
    let gateway = TestGateway::new(&cluster);
    for number in 0..20 {
        let note = format!("idempotent {number}");
        calls.push((gateway.submit("gpu__write", json!({"note": note})).await.unwrap(), note));
        let note = format!("once {number}");
        let cx = CallContext::for_caller("ada").with_idempotency_key(note.clone());
        let id = gateway.submit_as("tools__write", json!({"note": note}), &cx).await.unwrap();
        calls.push((id, note));
    }
    drop((gateway, cluster));
    servers.nats.restart();

    let cluster = servers.connect().await;
    let worker = servers.connect().await;
    let workers = [
        TestWorker::start(&worker, "gpu", "one", &log),
        TestWorker::start(&worker, "tools", "two", &log),
    ];
    let gateway = TestGateway::new(&cluster);
    for (id, note) in &calls {
        let ended = gateway.ended(*id).await;
        assert_eq!((ended.state, ended.attempts), (QueueState::Done, 1), "{note}");
        assert_eq!(log.times(note), 1, "{note}");
    }
    for worker in workers {
        worker.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_waits_for_a_broker_that_comes_back() {
    let mut servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = servers.connect().await;
    let _one = TestWorker::start(&worker, "gpu", "one", &log);
    let _two = TestWorker::start(&worker, "tools", "two", &log);
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let once = json!({"note": "once", "secs": 1.0});
    let ids = [
        gateway.submit("gpu__hold", json!({"note": "again", "secs": 1.0})).await.unwrap(),
        gateway.submit_as("tools__hold", once, &cx).await.unwrap(),
    ];
    log.saw("again").await;
    log.saw("once").await;
    servers.nats.kill();
    // The calls end while nobody can be told.
    tokio::time::sleep(Duration::from_secs(2)).await;
    servers.nats.restart();
    for id in ids {
        let ended = gateway.ended(id).await;
        assert_eq!((ended.state, text(&ended)), (QueueState::Done, "held".to_owned()));
    }
    assert_eq!((log.times("again"), log.times("once")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_broker_nothing_is_said_to_be_queued() {
    let mut servers = start();
    let cluster = servers.connect().await;
    let gateway = TestGateway::new(&cluster);
    gateway.submit("gpu__write", json!({"note": "before"})).await.unwrap();
    servers.nats.kill();
    until("the broker is missed", async || (!cluster.is_connected()).then_some(())).await;
    let refused = gateway.submit("gpu__write", json!({"note": "during"})).await.unwrap_err();
    assert_eq!(refused.error_kind(), Some(ErrorKind::Unavailable));
    assert!(refused.text().contains("NATS at nats://127.0.0.1:"), "{}", refused.text());
    let id = CallId::generate();
    assert!(gateway.queue.look(id).await.is_err() && gateway.queue.cancel(id).await.is_err());
}
