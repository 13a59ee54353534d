//! The cluster in memory does what NATS does: the same assertions are made about NATS in `tests/real`.

use crate::{TestServers, shared::conformance};

#[tokio::test(start_paused = true)]
async fn buckets_in_memory() {
    let servers = TestServers::start();
    conformance::buckets(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn watches_in_memory() {
    let servers = TestServers::start();
    conformance::watches(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn messages_in_memory() {
    let servers = TestServers::start();
    conformance::messages(&servers.connect().await, &servers.connect().await).await;
}
