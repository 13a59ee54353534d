//! The cluster in memory does what NATS does: the same assertions are made about NATS in `tests/real`.

use crate::{Own, shared::conformance};

#[tokio::test(start_paused = true)]
async fn buckets_in_memory() {
    let own = Own::start();
    conformance::buckets(&own.connect().await, &own.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn watches_in_memory() {
    let own = Own::start();
    conformance::watches(&own.connect().await, &own.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn messages_in_memory() {
    let own = Own::start();
    conformance::messages(&own.connect().await, &own.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn deliveries_in_memory() {
    let own = Own::start();
    conformance::deliveries(&own.connect().await, &own.connect().await).await;
}

#[tokio::test(start_paused = true)]
async fn acknowledgements_in_memory() {
    let own = Own::start();
    conformance::acknowledgements(&own.connect().await, &own.connect().await).await;
}
