//! Queued calls that are divided among several streams, and nodes that do not know of that.

use std::time::Duration;

use async_nats::jetstream::{
    consumer::pull,
    stream::{self, RetentionPolicy},
};
use serde_json::json;
use switchboard_runtime::QueueState;
use switchboard_toolcall::ErrorKind;
use switchboard_workers::jobs;

use crate::{
    TestServers,
    shared::jobs::{RunLog, TestGateway, TestWorker},
};

/// The stream of durable calls as 0.1.0 made it.
fn old_stream() -> stream::Config {
    stream::Config {
        name: "switchboard_jobs".to_owned(),
        subjects: vec!["switchboard.job.>".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        max_age: Duration::from_secs(7 * 24 * 60 * 60),
        duplicate_window: Duration::from_secs(600),
        allow_direct: true,
        ..stream::Config::default()
    }
}

#[tokio::test]
async fn a_node_of_0_1_0_can_store_no_call_in_a_divided_queue() {
    let servers = TestServers::divided(4);
    let (cluster, log) = (servers.connect().await, RunLog::default());
    cluster.agree().await.unwrap();
    let jetstream = cluster.nats().unwrap().jetstream();
    // A gateway of 0.1.0 publishes, creates the stream if there is none for the subject, and publishes again.
    let publish = async || {
        let sent = jetstream.publish("switchboard.job.gpu.write", "a call".into()).await.unwrap();
        sent.await.map(drop)
    };
    assert!(publish().await.is_err());
    assert!(jetstream.create_stream(old_stream()).await.is_err());
    let stream = jetstream.get_stream("switchboard_jobs").await.unwrap();
    assert!(publish().await.is_err(), "it fails, and its caller is told so");
    // A worker of 0.1.0 asks there for calls.
    let consumer = pull::Config {
        durable_name: Some("gpu".to_owned()),
        filter_subject: "switchboard.job.gpu.>".to_owned(),
        ..pull::Config::default()
    };
    _ = stream.create_consumer(consumer).await;
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&servers.connect().await, "gpu", "one", &log);
    let id = gateway.submit("gpu__write", json!({"note": "n"})).await.unwrap();
    assert_eq!(gateway.ended(id).await.state, QueueState::Done);
}

#[tokio::test]
async fn the_queue_of_0_1_0_is_one_partition() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    cluster.reached(Duration::from_secs(60)).await.unwrap();
    cluster.nats().unwrap().jetstream().create_stream(old_stream()).await.unwrap();
    cluster.agree().await.unwrap();
    let divided = jobs::Config { partitions: 4, ..servers.jobs() };
    let error = servers.connect_with(divided).await.agree().await.unwrap_err().to_string();
    assert!(error.contains("is 4 here and 1 in the cluster"), "{error}");
}

#[tokio::test]
async fn the_number_can_be_changed_and_who_missed_that_is_told() {
    let servers = TestServers::start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let forgotten = TestGateway::new(&cluster);
    let worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let id = forgotten.submit("gpu__write", json!({"note": "1"})).await.unwrap();
    forgotten.ended(id).await;
    worker.leave().await;
    let jetstream = cluster.nats().unwrap().jetstream();
    jetstream.delete_stream("switchboard_jobs").await.unwrap();

    let divided = jobs::Config { partitions: 4, ..servers.jobs() };
    let cluster = servers.connect_with(divided).await;
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "gpu", "one", &log);
    let id = gateway.submit("gpu__write", json!({"note": "2"})).await.unwrap();
    assert_eq!(gateway.ended(id).await.state, QueueState::Done);
    let refused = forgotten.submit("gpu__write", json!({"note": "3"})).await.unwrap_err();
    assert_eq!(refused.error_kind(), Some(ErrorKind::Unavailable));
    let text = refused.text();
    assert!(text.contains("was not queued: `cluster.jobs.partitions` is 1 here and 4"), "{text}");
    assert_eq!(log.times("3"), 0);
}
