//! NATS does what the cluster in memory does: the same assertions are made about it in `tests/it`.

use std::time::Duration;

use switchboard_workers::Bucket;

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

/// Entries expire as soon as this version wants it, if an earlier one has made the bucket.
#[tokio::test]
async fn a_bucket_of_an_earlier_version_is_adopted() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    cluster.reached(Duration::from_secs(60)).await.unwrap();
    let jetstream = cluster.nats().unwrap().jetstream();
    let config = async_nats::jetstream::kv::Config {
        bucket: cluster.names().bucket(Bucket::Workers),
        max_age: Duration::from_secs(10),
        storage: async_nats::jetstream::stream::StorageType::Memory,
        ..Default::default()
    };
    jetstream.create_key_value(config).await.unwrap();
    cluster.bucket(Bucket::Workers).await.unwrap();
    let stream = format!("KV_{}", cluster.names().bucket(Bucket::Workers));
    let mut stream = jetstream.get_stream(stream).await.unwrap();
    let found = stream.info().await.unwrap().config.max_age;
    assert_eq!(Some(found), Bucket::Workers.max_age());
}
