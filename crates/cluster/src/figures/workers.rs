//! The live workers, by their own entries.

use futures_util::StreamExt;
use switchboard_workers::{Bucket, Cluster, Error, groups, offer::Presence};

use crate::streams::find;

/// Returns the workers of all groups. Sends one request, however many there are.
///
/// # Errors
/// Fails if NATS cannot be reached, or does not allow it.
pub async fn present(cluster: &Cluster) -> Result<Vec<Presence>, Error> {
    let refused = || Error::refused("tell which workers there are");
    let name = cluster.names().bucket(Bucket::Workers);
    let stream = find(cluster, &format!("KV_{name}")).await?;
    // There are no workers, and there never were.
    if stream.is_none_or(|stream| stream.cached_info().state.messages == 0) {
        return Ok(Vec::new());
    }
    let mut present = Vec::new();
    let mut entries = cluster.bucket(Bucket::Workers).await?.watch().await.map_err(refused())?;
    while let Some(entry) = entries.next().await {
        let entry = entry.map_err(refused())?;
        // A worker that has left has no value; an unreadable one is of another version.
        if let Some(value) = &entry.value
            && let Some(value) = groups::present(cluster, &entry.key, value)
        {
            present.extend(serde_json::from_slice::<Presence>(&value).ok());
        }
        if entry.is_current {
            break;
        }
    }
    Ok(present)
}
