//! NATS does what the cluster in memory does: the same assertions are made about it in `tests/it`.

use crate::{TestServers, shared::conformance};

#[tokio::test]
async fn buckets_of_nats() {
    let servers = TestServers::start();
    conformance::buckets(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn watches_of_nats() {
    let servers = TestServers::start();
    conformance::watches(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn messages_of_nats() {
    let servers = TestServers::start();
    conformance::messages(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn deliveries_of_nats() {
    let servers = TestServers::start();
    conformance::deliveries(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test]
async fn acknowledgements_of_nats() {
    let servers = TestServers::start();
    conformance::acknowledgements(&servers.connect().await, &servers.connect().await).await;
}
