//! The queue of NATS does what that in memory does: the same assertions are made about that in `tests/it`.

use super::*;
use crate::shared::conformance;

#[tokio::test]
async fn deliveries_of_nats() {
    let servers = start();
    conformance::deliveries(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn acknowledgements_of_nats() {
    let servers = start();
    conformance::acknowledgements(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn full_queues_of_nats() {
    let servers = start();
    // Another version or config has made the stream, with another limit.
    let jobs = jobs::Config { max_queued: u32::MAX, ..servers.jobs() };
    let others = servers.connect_with(jobs).await;
    others.queue().consumer("gpu", Duration::from_secs(1)).await.unwrap();
    let jobs = jobs::Config { max_queued: 2, ..servers.jobs() };
    let cluster = servers.connect_with(jobs).await;
    cluster.queue().consumer("gpu", Duration::from_secs(1)).await.unwrap();
    conformance::full_queues(&cluster).await;
}
