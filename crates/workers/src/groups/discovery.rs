//! Watches the bucket of workers, and restarts the watch after NATS was unreachable.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::{
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use super::{GroupsInner, group::Group};
use crate::{
    Cluster, Error, Purpose,
    clock::now_ms,
    names::Bucket,
    offer::{Presence, WorkerOffer},
    transport::{KeyValue, KeyValueEntry},
    wire,
};

/// How often lapsed workers are removed.
const COUNTED: Duration = Duration::from_secs(1);

/// How long a watch may be silent before it is restarted: workers renew their entries all the time.
const QUIET: Duration = Duration::from_secs(20);

/// How long the servers may take to respond.
const ANSWERED: Duration = Duration::from_secs(2);

/// The pause before NATS is tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// How long the existing entries may take to arrive.
const FIRST: Duration = Duration::from_secs(5);

/// Watches until dropped.
pub(super) async fn run(shared: Arc<GroupsInner>) {
    loop {
        if shared.line.cluster.is_connected()
            && let Err(error) = look(&shared).await
        {
            tracing::debug!("who is there cannot be seen: {error}");
        }
        // A worker is not gone because the servers are; a call to a dead one fails at once.
        excuse(&shared);
        sleep(AGAIN).await;
    }
}

/// Lists the workers and follows changes, until the watch must be restarted.
async fn look(shared: &Arc<GroupsInner>) -> Result<(), Error> {
    let cluster = &shared.line.cluster;
    let mut connected = cluster.connections();
    connected.borrow_and_update();
    // The bucket is in memory only, so restarted servers have lost it.
    cluster.renew(Bucket::Workers).await?;
    let store = cluster.bucket(Bucket::Workers).await?;
    let refused = || Error::refused("say which workers are there");
    let mut watched = store.watch().await.map_err(refused())?;
    let is_empty = count_entries(store).await? == 0;
    let mut first = (!is_empty).then(BTreeSet::new);
    if is_empty {
        shared.looked.send_replace(true);
    }
    let began = Instant::now();
    let mut heard = began;
    let mut counted = interval(COUNTED);
    counted.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let entry = tokio::select! {
            entry = watched.next() => entry,
            _ = counted.tick() => {
                count(shared, store).await?;
                if heard.elapsed() > QUIET || (first.is_some() && began.elapsed() > FIRST) {
                    return Ok(());
                }
                continue;
            }
            _ = connected.changed() => return Ok(()),
        };
        let Some(entry) = entry else { return Ok(()) };
        let entry = entry.map_err(refused())?;
        heard = Instant::now();
        let changed = note(shared, &entry).await?;
        match &mut first {
            // Groups are registered in the order of their names.
            Some(groups) => {
                groups.extend(changed);
                if entry.is_current {
                    for group in first.take().into_iter().flatten() {
                        show(shared, shared.group(&group)).await;
                    }
                    shared.looked.send_replace(true);
                }
            }
            None => {
                if let Some(group) = changed {
                    show(shared, shared.group(&group)).await;
                }
            }
        }
    }
}

async fn count_entries(store: &dyn KeyValue) -> Result<u64, Error> {
    let refused = Error::refused("say how many workers there are");
    store.count().await.map_err(refused)
}

/// Handles a worker's entry. Returns the group whose offer may have changed.
async fn note(shared: &GroupsInner, entry: &KeyValueEntry) -> Result<Option<String>, Error> {
    let Some(value) = &entry.value else {
        let groups: Vec<_> = shared.groups().values().cloned().collect();
        let names = shared.line.cluster.names();
        for group in groups {
            let worker = entry.key.rsplit('.').next().unwrap_or_default();
            if entry.key == names.member(group.name(), worker) && group.leaves(worker) {
                tracing::info!("worker {worker} of group '{}' has left", group.name());
                return Ok(Some(group.name().to_string()));
            }
        }
        return Ok(None);
    };
    let Some(body) = present(&shared.line.cluster, &entry.key, value) else {
        return Ok(None);
    };
    let presence: Presence = match wire::read("what a worker says of itself", &body) {
        Ok(presence) => presence,
        Err(error) => {
            tracing::debug!("`{}`: {error}", entry.key);
            return Ok(None);
        }
    };
    let group = shared.group(&presence.group);
    match group.notes(&presence) {
        // Another task may have replaced the servers, so this is checked each time.
        Some(_) => Ok(Some(presence.group)),
        None if presence.leaving => Ok(None),
        None => {
            let Some(offer) = offer_of(shared, &entry.key, &presence.tools).await? else {
                return Ok(None);
            };
            let name = presence.group.clone();
            tracing::info!("worker {} of group '{name}' is there", presence.worker);
            group.joins(presence, offer);
            Ok(Some(name))
        }
    }
}

/// Returns a worker's presence, if it is signed by this cluster.
pub fn present(cluster: &Cluster, key: &str, value: &Bytes) -> Option<Bytes> {
    let (signer, purpose) = (cluster.signer(), Purpose::Entry(Bucket::Workers));
    let opened = signer.open_fresh(purpose, &[key], value, now_ms());
    let opened = opened.inspect_err(|error| signer.refused(purpose, key, error));
    opened.ok().map(|opened| opened.body)
}

/// Returns the offer with this hash: known already, or from the bucket of offers.
async fn offer_of(
    shared: &GroupsInner,
    key: &str,
    hash: &str,
) -> Result<Option<Arc<WorkerOffer>>, Error> {
    let known =
        shared.groups().values().flat_map(|group| group.offers()).find(|offer| offer.hash == hash);
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

/// Registers what the group offers now, on a blocking thread: checking workers' schemas may take long.
async fn show(shared: &Arc<GroupsInner>, group: Arc<Group>) {
    let shared = shared.clone();
    if spawn_blocking(move || shared.show(&group)).await.is_err() {
        tracing::warn!("what workers offer could not be checked");
    }
}

/// Removes workers that have not renewed their entries while the servers were reachable.
async fn count(shared: &Arc<GroupsInner>, store: &dyn KeyValue) -> Result<(), Error> {
    let groups: Vec<_> = shared.groups().values().cloned().collect();
    if !groups.iter().any(|group| group.has_lapsed()) {
        return Ok(());
    }
    // Servers that elect a leader deliver nothing, and accept nothing from workers either.
    let unable = Error::refused("say which workers are there in time");
    timeout(ANSWERED, count_entries(store)).await.map_err(|elapsed| unable(elapsed.into()))??;
    for group in groups {
        if group.lapse() {
            show(shared, group).await;
        }
    }
    Ok(())
}

fn excuse(shared: &GroupsInner) {
    shared.groups().values().for_each(|group| group.excuse());
}
