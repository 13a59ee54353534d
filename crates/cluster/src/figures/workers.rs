//! Which workers are there, as they say themselves.

use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use switchboard_workers::{Bucket, Cluster, Error, groups, offer::Presence};

use crate::streams::find;

/// The workers of all groups. Asks the servers once, however many there are.
///
/// # Errors
/// The servers cannot be reached, or do not allow it.
pub async fn present(cluster: &Cluster) -> Result<Vec<Presence>, Error> {
    let refused = || Error::refused("tell which workers there are");
    let name = cluster.names().bucket(Bucket::Workers);
    let stream = find(cluster, &format!("KV_{name}")).await?;
    // Nobody is there, or has ever been.
    if stream.is_none_or(|stream| stream.cached_info().state.messages == 0) {
        return Ok(Vec::new());
    }
    let store = cluster.jetstream().get_key_value(name).await;
    let store = store.map_err(|error| refused()(error.into()))?;
    let mut present = Vec::new();
    let mut entries =
        store.watch_with_history(">").await.map_err(|error| refused()(error.into()))?;
    while let Some(entry) = entries.next().await {
        let entry = entry.map_err(|error| refused()(error.into()))?;
        // One that has left says nothing; one that we do not understand is of another kind.
        if entry.operation == Operation::Put
            && let Some(value) = groups::present(cluster, &entry.key, &entry.value)
        {
            present.extend(serde_json::from_slice::<Presence>(&value).ok());
        }
        if entry.delta == 0 {
            break;
        }
    }
    Ok(present)
}
