//! NATS does what the cluster in memory does: the same assertions are made about it in `tests/it`.

use crate::{Own, shared::conformance};

#[tokio::test]
async fn buckets_of_nats() {
    let own = Own::start();
    conformance::buckets(&own.connect().await, &own.connect().await).await;
}

#[tokio::test]
async fn watches_of_nats() {
    let own = Own::start();
    conformance::watches(&own.connect().await, &own.connect().await).await;
}

#[tokio::test]
async fn messages_of_nats() {
    let own = Own::start();
    conformance::messages(&own.connect().await, &own.connect().await).await;
}

#[tokio::test]
async fn deliveries_of_nats() {
    let own = Own::start();
    conformance::deliveries(&own.connect().await, &own.connect().await).await;
}

#[tokio::test]
async fn acknowledgements_of_nats() {
    let own = Own::start();
    conformance::acknowledgements(&own.connect().await, &own.connect().await).await;
}
