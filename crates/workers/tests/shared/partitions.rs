//! Queued calls that are divided among several streams and buckets.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState, ToolExecutor};
use switchboard_toolcall::{CallId, CancellationToken, ErrorKind};
use switchboard_workers::{Cluster, Worker, jobs, transport::Ack};

use super::{jobs::TestGateway, nodes::within};
use crate::TestServers;

/// Groups that four partitions have one each of.
const GROUPS: [&str; 4] = ["gpu", "tools", "two", "ocr"];

/// A node whose config has so many partitions.
async fn node(servers: &TestServers, partitions: u32) -> Cluster {
    servers.connect_with(jobs::Config { partitions, ..Default::default() }).await
}

pub(crate) async fn each_group_is_in_one_stream(servers: TestServers) {
    let (one, other) = (node(&servers, 4).await, node(&servers, 4).await);
    for group in GROUPS {
        let subject = one.names().jobs(group, "run");
        for (number, id) in [(1, "a"), (2, "b")] {
            let id = format!("{group} {id}");
            let stored = one.queue().publish(&subject, &id, id.clone().into()).await.unwrap();
            assert_eq!(stored, number, "each stream counts by itself");
        }
    }
    other.queue().delete("tools", 1).await.unwrap();
    let figures = other.queue().figures().await.unwrap();
    let waiting: Vec<_> = figures.iter().map(|one| (&*one.group, one.waiting)).collect();
    assert_eq!(waiting, [("gpu", 2), ("ocr", 2), ("tools", 1), ("two", 2)]);
    for group in GROUPS {
        let mut consumer = other.queue().consumer(group, Duration::from_secs(60)).await.unwrap();
        let ids: &[&str] = if group == "tools" { &["b"] } else { &["a", "b"] };
        for id in ids {
            let job = within("a job", consumer.next(Duration::from_secs(60))).await.unwrap();
            let job = job.expect("it was queued");
            assert_eq!(job.payload, format!("{group} {id}"));
            job.acks.ack(Ack::Done).await.unwrap();
        }
    }
}

pub(crate) async fn a_node_with_another_number_is_refused(servers: TestServers) {
    let cluster = node(&servers, 4).await;
    cluster.agree().await.unwrap();
    for number in [1, 2] {
        let stranger = node(&servers, number).await;
        let expected = format!(
            "`cluster.jobs.partitions` is {number} here and 4 in the cluster, and has to be the same on all nodes; to change it, let \
             the queue run empty, stop all nodes, delete the stream `switchboard_jobs`, and start them with the new number"
        );
        assert_eq!(stranger.agree().await.unwrap_err().to_string(), expected);
        // It queues nothing where no worker looks, and does not say that a call is unknown which it did not look for.
        let gateway = TestGateway::new(&stranger);
        let refused = gateway.submit("gpu__write", json!({"note": "n"})).await.unwrap_err();
        assert_eq!(refused.error_kind(), Some(ErrorKind::Unavailable));
        assert_eq!(refused.text(), format!("Tool 'gpu__write' was not queued: {expected}"));
        let unknown = gateway.queue.look(CallId::generate()).await.unwrap_err();
        assert_eq!(unknown.to_string(), expected);
        assert!(gateway.queue.jobs().changes().await.is_err());
        assert!(gateway.queue.figures().await.is_err());
        let executor = ToolExecutor::default();
        let worker = Worker::new(stranger, "gpu", 1, executor, Arc::new(|_| true)).unwrap();
        let ended = within("the worker ends", worker.run(CancellationToken::new())).await;
        assert_eq!(ended.unwrap_err().to_string(), expected);
    }
    assert_eq!(cluster.queue().figures().await.unwrap(), []);
}

pub(crate) async fn changes_of_all_partitions_are_followed(servers: TestServers) {
    let cluster = node(&servers, 4).await;
    let gateway = TestGateway::new(&node(&servers, 4).await);
    let mut changes = cluster.jobs().changes().await.unwrap();
    let mut queued = BTreeSet::new();
    for number in 0..16 {
        let note = json!({"note": number.to_string()});
        queued.insert(gateway.submit("gpu__write", note).await.unwrap().to_string());
    }
    let mut seen = BTreeSet::new();
    while seen.len() < queued.len() {
        let change = within("a change", changes.next()).await;
        assert_eq!(change.state, QueueState::Queued);
        seen.insert(change.id.to_string());
    }
    assert_eq!(seen, queued);
    // Each is found, wherever its state is.
    for id in &queued {
        let id = CallId::parse(id).unwrap();
        assert!(gateway.queue.look(id).await.unwrap().is_some());
    }
}
