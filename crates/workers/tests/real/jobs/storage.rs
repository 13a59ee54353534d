//! What a real NATS stores of queued calls: dead letters, large values, figures.

use serde_json::json;
use switchboard_runtime::QueueState;
use switchboard_workers::{jobs::DeadLetter, wire};

use super::*;

#[tokio::test]
async fn a_call_that_failed_for_good_is_a_dead_letter() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let args = json!({"note": "never", "failures": 99});
    let id = gateway.submit("gpu__flaky", args.clone()).await.unwrap();
    let dead = gateway.ended(id).await;
    assert_eq!((dead.state, dead.attempts), (QueueState::Dead, 3));
    assert_eq!(
        (kind(&dead), text(&dead)),
        (Some(ErrorKind::Unavailable), "never does not work yet".to_owned())
    );
    assert_eq!(log.times("never"), 3);

    let stream = cluster
        .nats()
        .unwrap()
        .jetstream()
        .get_stream(cluster.names().stream("dead"))
        .await
        .unwrap();
    let subject = cluster.names().subject(&["dead", "gpu", "flaky"]);
    let letter = stream.direct_get_last_for_subject(subject).await.unwrap();
    let letter: DeadLetter = wire::read("a dead letter", &letter.payload).unwrap();
    assert_eq!(
        (letter.call, letter.attempts, &*letter.error.text),
        (id, 3, "never does not work yet")
    );
    assert_eq!(serde_json::Value::Object(letter.job.request.args), args);
    assert_eq!(letter.job.request.caller.as_deref(), Some("ada"));
}

// RS-5
#[tokio::test]
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

#[tokio::test]
async fn figures_tell_how_long_the_queues_are() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    assert_eq!(gateway.queue.figures().await.unwrap(), []);
    for _ in 0..3 {
        gateway.submit("gpu__hold", json!({"note": "held"})).await.unwrap();
    }
    let figures = gateway.queue.figures().await.unwrap();
    let one = |figures: &[jobs::QueueFigures]| {
        figures.iter().find(|figures| figures.is_of("gpu")).cloned().unwrap()
    };
    let waiting = one(&figures);
    assert_eq!((figures.len(), waiting.waiting, waiting.taken, waiting.dead), (1, 3, 0, 0));
    assert!(waiting.oldest.is_some());

    let _worker = TestWorker::with(jobs(&cluster), "gpu", "one", tools(&log), 2);
    until("two of them run", async || {
        let figures = one(&gateway.queue.figures().await.unwrap());
        ((figures.waiting, figures.taken) == (1, 2)).then_some(())
    })
    .await;
    let args = json!({"note": "never", "failures": 99});
    let _other = TestWorker::with(jobs(&cluster), "gpu", "two", tools(&log), 1);
    let id = gateway.submit("gpu__flaky", args).await.unwrap();
    let third = TestWorker::with(jobs(&cluster), "gpu", "three", tools(&log), 1);
    assert_eq!(gateway.ended(id).await.state, QueueState::Dead);
    assert_eq!(one(&gateway.queue.figures().await.unwrap()).dead, 1);
    drop(third);
}
