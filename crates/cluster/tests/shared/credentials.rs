//! Sign-ins that gateways share: who may change one, and what others see of it.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use switchboard_cluster::ClusterCredentials;
use switchboard_oauth::{CredentialStore, Secret};

/// The name of a sign-in.
pub(crate) const NAME: &str = r#"[null,"docs","https://docs.example/mcp"]"#;

/// What is stored under [`NAME`].
pub(crate) async fn stored(at: &ClusterCredentials) -> Option<String> {
    at.get(NAME).await.unwrap().map(|secret| secret.expose().to_owned())
}

/// Stores a text under [`NAME`], as somebody does who signs in.
pub(crate) async fn store(at: &ClusterCredentials, text: &str) {
    let lock = at.lock(NAME).await.unwrap();
    lock.set(text.into()).await.unwrap();
    lock.release().await;
}

/// AU-2: what one stores, all have at once; what is removed is gone for all.
pub(crate) async fn is_seen_by_all([one, two]: [&Arc<ClusterCredentials>; 2]) {
    assert_eq!((stored(one).await, one.version(NAME)), (None, 0));
    let mut changes = two.changes().unwrap();
    store(one, "token-1").await;
    assert_eq!(stored(two).await.as_deref(), Some("token-1"));
    changes.wait_for(|_| two.version(NAME) == one.version(NAME)).await.unwrap();
    let version = two.version(NAME);
    assert_ne!(version, 0);
    assert_eq!(two.names().await.unwrap(), [NAME]);
    // A lock alone is no change.
    one.lock(NAME).await.unwrap().release().await;
    assert_eq!((stored(two).await.as_deref(), two.version(NAME)), (Some("token-1"), version));
    let lock = two.lock(NAME).await.unwrap();
    assert_eq!(lock.get().await.unwrap(), Some(Secret::from("token-1")));
    lock.remove().await.unwrap();
    lock.release().await;
    assert_eq!(stored(one).await, None);
    let mut changes = one.changes().unwrap();
    changes.wait_for(|_| one.version(NAME) == 0).await.unwrap();
    assert!(one.names().await.unwrap().is_empty());
}

/// AU-2: each of many adds one to what is stored, at two gateways, and none is lost: never two at once.
pub(crate) async fn is_changed_by_one_at_a_time(stores: [&Arc<ClusterCredentials>; 2]) {
    store(stores[0], "0").await;
    let add = |turn: usize| {
        let at = stores[turn % 2].clone();
        async move {
            let lock = at.lock(NAME).await.unwrap();
            assert!(lock.is_safe());
            let before = lock.get().await.unwrap().unwrap();
            let number: usize = before.expose().parse().unwrap();
            // As long as it takes to ask for a token.
            tokio::time::sleep(Duration::from_millis(5)).await;
            lock.set((number + 1).to_string().into()).await.unwrap();
            lock.release().await;
        }
    };
    join_all((0..12).map(add)).await;
    assert_eq!(stored(stores[1]).await.as_deref(), Some("12"));
}
