//! Sign-ins to servers over a real NATS, and somebody without the key who changes them there.

use std::{sync::Arc, time::Duration};

use switchboard_cluster::ClusterCredentials;
use switchboard_oauth::CredentialStore;
use switchboard_workers::Bucket;
use tokio::time::sleep;

use crate::{
    TestCluster,
    shared::credentials::{NAME, is_changed_by_one_at_a_time, is_seen_by_all, store, stored},
    until,
};

async fn credentials(test_cluster: &TestCluster) -> Arc<ClusterCredentials> {
    ClusterCredentials::start(&test_cluster.cluster().await).unwrap()
}

// AU-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_is_shared() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster).await, credentials(&test_cluster).await);
    is_seen_by_all([&one, &two]).await;
    is_changed_by_one_at_a_time([&one, &two]).await;
}

// AU-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_without_the_key_signs_in_or_brings_a_sign_in_back() {
    let test_cluster = TestCluster::signed();
    let (one, stranger) = (credentials(&test_cluster).await, test_cluster.stranger().await);
    store(&one, "ada's").await;
    let bucket = stranger.bucket(Bucket::Credentials).await.unwrap();
    let key = bucket.keys().await.unwrap().remove(0);
    let signed_in = bucket.get(&key).await.unwrap().unwrap().value.unwrap();
    assert!(!String::from_utf8_lossy(&signed_in).contains("ada's"));
    // Under another name, it is nobody's.
    let other = format!("in.{}", "0".repeat(64));
    bucket.put(&other, signed_in.clone()).await.unwrap();
    // Removed, it is put back.
    bucket.remove(&key).await.unwrap();
    let is_back = async || {
        let entry = bucket.get(&key).await.unwrap();
        entry.is_some_and(|entry| entry.value.is_some())
    };
    until("it is put back", is_back).await;
    assert_eq!(stored(&one).await.as_deref(), Some("ada's"));
    let lock = one.lock(NAME).await.unwrap();
    lock.remove().await.unwrap();
    lock.release().await;
    bucket.put(&key, signed_in).await.unwrap();
    sleep(Duration::from_millis(700)).await;
    assert_eq!((stored(&one).await, one.version(NAME)), (None, 0));
    assert!(one.names().await.unwrap().is_empty());
}
