//! The cluster in memory does what NATS does: the same assertions are made about NATS in `tests/real`.

use switchboard_workers::{Config, jobs};

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

#[tokio::test(start_paused = true)]
async fn deliveries_in_memory() {
    let servers = TestServers::start();
    conformance::deliveries(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn acknowledgements_in_memory() {
    let servers = TestServers::start();
    conformance::acknowledgements(&servers.connect().await, &servers.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn full_queues_in_memory() {
    let jobs = jobs::Config { max_queued: 2, ..Default::default() };
    let config = Config { jobs, ..Config::default() };
    conformance::full_queues(&TestServers::start().servers.connect(&config).unwrap()).await;
}
