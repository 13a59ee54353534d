//! Figures of the cluster, as Prometheus reads them.

use std::{sync::Arc, time::Duration};

use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::json;
use switchboard_cluster::figures::{FiguresTask, present};
use switchboard_runtime::ToolExecutor;
use switchboard_workers::{Bucket, Cluster, Groups, offer::WorkerOffer, wire};

use crate::records::{LIMIT, TestNats};

/// Waits until the figures have all of these lines.
async fn until(registry: &Registry, lines: &[&str]) {
    let mut text = String::new();
    let has_all = async {
        loop {
            text.clear();
            encode(&mut text, registry).unwrap();
            if lines.iter().all(|line| text.lines().any(|is| is == *line)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let waited = tokio::time::timeout(LIMIT, has_all).await;
    assert!(waited.is_ok(), "not all of {lines:#?} in\n{text}");
}

/// Two workers of one group and one of another, who say all the time that they are there: else they lapse.
async fn renew(cluster: Cluster) {
    let workers = cluster.bucket(Bucket::Workers).await.unwrap();
    let offers = cluster.bucket(Bucket::Tools).await.unwrap();
    let offer = WorkerOffer::new(Vec::new()).unwrap();
    loop {
        for (worker, group, running) in [("a", "gpu", 1), ("b", "gpu", 2), ("c", "cpu", 0)] {
            let key = cluster.names().member(group, worker);
            let says = json!({"group": group, "worker": worker, "capacity": 4, "running": running, "version": "0.1.0", "tools": offer.hash, "started": 1});
            // The broker may be away.
            _ = offers.put(&key, wire::write(&offer).unwrap()).await;
            _ = workers.put(&key, says.to_string().into()).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

// GW-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_have_workers_and_queues_and_a_dead_broker_holds_up_nobody() {
    let mut own = TestNats::start();
    let cluster = own.connect().await;
    cluster.reached(LIMIT).await.unwrap();
    assert_eq!(present(&cluster).await.unwrap(), []);
    let renewing = tokio::spawn(renew(cluster.clone()));
    // A call that waits, in a queue that the servers have.
    let executor = ToolExecutor::default();
    let groups = Arc::new(Groups::start(cluster.clone(), executor.tools()).await.unwrap());
    groups.jobs().figures().await.unwrap();
    let subject = cluster.names().jobs("gpu", "resize");
    cluster.queue().publish(&subject, "a", "{}".into()).await.unwrap();

    let (watching, registry) = FiguresTask::start(groups, None);
    let lines = [
        "switchboard_nats_connected 1",
        "switchboard_workers{group=\"gpu\"} 2",
        "switchboard_worker_capacity{group=\"gpu\"} 8",
        "switchboard_worker_calls_running{group=\"gpu\"} 3",
        "switchboard_workers{group=\"cpu\"} 1",
        "switchboard_queue_waiting{group=\"gpu\"} 1",
        "switchboard_queue_waiting{group=\"cpu\"} 0",
        "switchboard_dead_letters{group=\"gpu\"} 0",
    ];
    until(&registry, &lines).await;
    own.nats.kill();
    until(&registry, &["switchboard_nats_connected 0"]).await;
    own.nats.restart();
    until(&registry, &["switchboard_nats_connected 1"]).await;
    renewing.abort();
    drop(watching);
}
