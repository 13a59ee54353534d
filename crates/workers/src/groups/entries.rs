//! What is in the buckets of workers: their presence, and what they offer.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_toolcall::time::unix_milliseconds;

use super::GroupsInner;
use crate::{Cluster, Error, Purpose, names::Bucket, offer::WorkerOffer, wire};

/// Returns a worker's presence, if it is signed by this cluster.
pub fn present(cluster: &Cluster, key: &str, value: &Bytes) -> Option<Bytes> {
    let (signer, purpose) = (cluster.signer(), Purpose::Entry(Bucket::Workers));
    let kept = Bucket::Workers.max_age().unwrap_or_default();
    let opened = signer.open_kept(purpose, &[key], value, unix_milliseconds(), kept);
    let opened = opened.inspect_err(|error| signer.refused(purpose, key, error));
    opened.ok().map(|opened| opened.body)
}

/// Returns the offer with this hash: known already, or from the bucket of offers.
pub(super) async fn offer_of(
    shared: &GroupsInner,
    key: &str,
    hash: &str,
) -> Result<Option<Arc<WorkerOffer>>, Error> {
    let known = shared.groups().values().find_map(|group| group.offer(hash));
    if known.is_some() {
        return Ok(known);
    }
    let refused = Error::refused("say what a worker offers");
    let cluster = &shared.line.cluster;
    let entry = cluster.bucket(Bucket::Tools).await?.get(key).await.map_err(refused)?;
    let Some(bytes) = entry.and_then(|entry| entry.value) else { return Ok(None) };
    let (signer, purpose) = (cluster.signer(), Purpose::Entry(Bucket::Tools));
    let bytes = match signer.open(purpose, &[key], &bytes) {
        Ok(opened) => opened.body,
        Err(error) => {
            signer.refused(purpose, key, &error);
            return Ok(None);
        }
    };
    let offer: Result<WorkerOffer, _> = match wire::read::<wire::LargeObjectRef>("an offer", &bytes)
    {
        Ok(elsewhere) => wire::read("an offer", &cluster.pick_up(&elsewhere.large).await?),
        Err(_) => wire::read("an offer", &bytes),
    };
    match offer {
        // A replica may be older than the worker's presence.
        Ok(offer) => Ok((offer.hash == hash).then(|| Arc::new(offer))),
        Err(error) => {
            tracing::warn!("what worker `{key}` offers cannot be read: {error}");
            Ok(None)
        }
    }
}
