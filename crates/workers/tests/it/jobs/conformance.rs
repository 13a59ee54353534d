//! The queue in memory does what that of NATS does: the same assertions are made about that in `tests/real`.

use switchboard_workers::jobs;

use super::*;
use crate::shared::conformance;

#[tokio::test(start_paused = true)]
async fn deliveries_in_memory() {
    let servers = start();
    conformance::deliveries(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn acknowledgements_in_memory() {
    let servers = start();
    conformance::acknowledgements(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn full_queues_in_memory() {
    let servers = start();
    let jobs = jobs::Config { max_queued: 2, ..servers.jobs() };
    conformance::full_queues(&servers.connect_with(jobs).await).await;
}
