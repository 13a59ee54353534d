//! Sign-ins to servers: encrypted, shared, and changed by one process at a time.

use std::{sync::Arc, time::Duration};

use switchboard_cluster::ClusterCredentials;
use switchboard_oauth::CredentialStore;
use switchboard_workers::Bucket;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    TestCluster,
    shared::credentials::{NAME, is_changed_by_one_at_a_time, is_seen_by_all, store, stored},
    until,
};

fn credentials(test_cluster: &TestCluster) -> Arc<ClusterCredentials> {
    ClusterCredentials::start(&test_cluster.cluster()).unwrap()
}

// AU-2
#[tokio::test(start_paused = true)]
async fn a_sign_in_is_shared() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster), credentials(&test_cluster));
    is_seen_by_all([&one, &two]).await;
    is_changed_by_one_at_a_time([&one, &two]).await;
}

// AU-2: nothing can be sealed without a key, so nothing is shared.
#[tokio::test]
async fn without_a_key_nothing_is_shared() {
    assert!(ClusterCredentials::start(&TestCluster::new().cluster()).is_none());
}

// AU-2: what lies in NATS tells neither tokens nor names.
#[tokio::test(start_paused = true)]
async fn what_is_stored_is_sealed() {
    let test_cluster = TestCluster::signed();
    let one = credentials(&test_cluster);
    store(&one, "the-secret-of-ada").await;
    one.pages().put("page", "a-page".into(), Duration::from_secs(60)).await.unwrap();
    let cluster = test_cluster.cluster();
    let bucket = cluster.bucket(Bucket::Credentials).await.unwrap();
    let keys = bucket.keys().await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in keys {
        let entry = bucket.get(&key).await.unwrap().unwrap().value.unwrap();
        let text = format!("{key} {}", String::from_utf8_lossy(&entry));
        for hidden in ["secret-of-ada", "docs", "a-page"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
}

// AU-2: a process that dies while it has the lock holds nobody up for long, and comes back too late.
#[tokio::test(start_paused = true)]
async fn a_lock_lapses() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster), credentials(&test_cluster));
    store(&one, "before").await;
    let late = one.lock(NAME).await.unwrap();
    let began = Instant::now();
    assert!(timeout(Duration::from_secs(30), two.lock(NAME)).await.is_err(), "it is locked");
    assert!(!late.is_safe(), "it must not begin to renew now");
    let lock = two.lock(NAME).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(40), "{:?}", began.elapsed());
    lock.set("after".into()).await.unwrap();
    let error = late.set("late".into()).await.unwrap_err().to_string();
    assert!(error.contains("another process is renewing it"), "{error}");
    late.release().await;
    assert!(timeout(Duration::from_secs(5), one.lock(NAME)).await.is_err(), "it is still locked");
    lock.release().await;
    assert_eq!(stored(&one).await.as_deref(), Some("after"));
}

// AU-2: work that is dropped frees its lock.
#[tokio::test(start_paused = true)]
async fn a_dropped_lock_is_free() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster), credentials(&test_cluster));
    drop(one.lock(NAME).await.unwrap());
    assert!(timeout(Duration::from_secs(5), two.lock(NAME)).await.is_ok());
}

// AU-2: while NATS is away, what was known is used, nobody begins to renew, and who has renewed waits to store it.
#[tokio::test(start_paused = true)]
async fn an_outage_loses_no_tokens() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster), credentials(&test_cluster));
    store(&one, "before").await;
    let seen = async || two.version(NAME) == one.version(NAME) && two.version(NAME) != 0;
    until("it is known", seen).await;
    let lock = one.lock(NAME).await.unwrap();
    test_cluster.servers.set_online(false);
    assert_eq!(stored(&two).await.as_deref(), Some("before"));
    assert!(two.lock(NAME).await.is_err());
    let servers = test_cluster.servers.clone();
    let back = tokio::spawn(async move {
        sleep(Duration::from_secs(10)).await;
        servers.set_online(true);
    });
    lock.set("after".into()).await.unwrap();
    back.await.unwrap();
    lock.release().await;
    until("it is stored", async || stored(&two).await.as_deref() == Some("after")).await;
}

// AU-3: of several gateways one finishes a sign-in, and a page ends by itself.
#[expect(
    clippy::disallowed_methods,
    reason = "pages end by the wall clock, which cannot be paused"
)]
#[tokio::test(start_paused = true)]
async fn a_page_is_taken_once() {
    let test_cluster = TestCluster::signed();
    let (one, two) = (credentials(&test_cluster), credentials(&test_cluster));
    let (here, there) = (one.pages(), two.pages());
    let minute = Duration::from_secs(60);
    here.put("state", "step".into(), minute).await.unwrap();
    assert_eq!(there.get("state").await.unwrap().unwrap().expose(), "step");
    until("it is seen", async || there.peek("state").is_some()).await;
    let (first, second) = tokio::join!(here.take("state"), there.take("state"));
    let taken = [first.unwrap(), second.unwrap()];
    assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
    assert!(there.get("state").await.unwrap().is_none());
    assert!(there.take("nobody's").await.unwrap().is_none());
    here.put("short", "step".into(), Duration::ZERO).await.unwrap();
    std::thread::sleep(Duration::from_millis(2));
    assert!(there.get("short").await.unwrap().is_none());
}
