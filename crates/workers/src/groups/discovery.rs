//! Discovers workers: reads their entries once, then gets a message when something changes, also when a worker has died
//! (`monitor.rs`). Starts again after NATS was unreachable.
//!
//! Messages may be lost. So it asks for the number of entries, which is one small message however many there are, and for
//! the keys if it is not the expected one (`compare.rs`). A worker without an entry is asked whether it is there, before it
//! is removed. Workers of 0.1.0 send no messages: their entries are read again, and are gone if they are not renewed.

mod compare;
mod ask;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::try_join_all,
    stream::{self, select_all},
};
use switchboard_toolcall::BoxError;
use switchboard_toolcall::time::unix_milliseconds;
use tokio::{
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    GroupsInner,
    entries::{offer_of, present},
    group::Group,
};
use crate::{
    Error, Purpose,
    names::Bucket,
    offer::Presence,
    transport::{ClusterMessage, KeyValue, KeyValueEntry},
    wire,
};
pub(super) use ask::without_reply;

/// How often the entries are counted.
const COUNTED: Duration = Duration::from_secs(1);

/// How often everything is read again, in case messages were lost.
const READ_AGAIN: Duration = Duration::from_secs(1_800);

/// How long the servers may take to respond.
const ANSWERED: Duration = Duration::from_secs(2);

/// How many messages are heard before the entries are counted, if so many have arrived.
const HEARD_AT_ONCE: usize = 1_000;

/// How many entries are read at once.
const READ_AT_ONCE: usize = 256;

/// The pause before NATS is tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// How long the entry of a worker that sends no messages may not be renewed.
const SILENCE: Duration = Duration::from_secs(5);

/// How long the existing entries may take to arrive.
const FIRST: Duration = Duration::from_secs(5);

/// Discovers until dropped.
pub(super) async fn run(shared: Arc<GroupsInner>) {
    loop {
        // A worker is not gone because the servers are; a call to a dead one fails at once.
        if shared.line.cluster.is_connected()
            && let Err(error) = look(&shared).await
        {
            tracing::debug!("who is there cannot be seen: {error}");
        }
        sleep(AGAIN).await;
    }
}

/// Reads the entries and follows changes, until that must begin again.
async fn look(shared: &Arc<GroupsInner>) -> Result<(), Error> {
    let cluster = &shared.line.cluster;
    let mut connected = cluster.connections();
    connected.borrow_and_update();
    // The bucket is in memory only, so restarted servers have lost it.
    cluster.renew(Bucket::Workers).await?;
    let store = cluster.bucket(Bucket::Workers).await?;
    let mut subscribed = Vec::new();
    for subject in cluster.groups().subjects(cluster.names()) {
        subscribed.push(cluster.subscribe(subject, None).await.map_err(refused())?);
    }
    let mut notices = select_all(subscribed);
    let mut discovery = Discovery {
        shared,
        store,
        keys: cluster.groups().keys(cluster.names()),
        entries: HashSet::new(),
        left: HashSet::new(),
        silent: HashMap::new(),
        counts: 0,
        keys_read: None,
    };
    timeout(FIRST, discovery.read_all()).await.map_err(|elapsed| refused()(elapsed.into()))??;
    let began = Instant::now();
    let mut counted = interval(COUNTED);
    counted.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while began.elapsed() < READ_AGAIN {
        tokio::select! {
            notice = notices.next() => match notice {
                Some(notice) => discovery.hear(&notice).await?,
                None => return Ok(()),
            },
            _ = counted.tick() => {
                // Servers that elect a leader do not answer, and take no entries of workers either.
                let unable = |elapsed| refused()(BoxError::from(elapsed));
                discovery.hear_waiting(&mut notices).await?;
                let number = timeout(ANSWERED, discovery.count()).await.map_err(unable)??;
                discovery.compare(number).await?;
            }
            _ = connected.changed() => return Ok(()),
        }
    }
    Ok(())
}

fn refused() -> impl FnOnce(BoxError) -> Error {
    Error::refused("say which workers are there")
}

/// What is known of the entries.
struct Discovery<'a> {
    shared: &'a Arc<GroupsInner>,
    store: &'a dyn KeyValue,
    /// Patterns of the keys of the entries that are read.
    keys: Vec<String>,
    /// The keys of the entries.
    entries: HashSet<String>,
    /// Those of workers that have left, which expire soon.
    left: HashSet<String>,
    /// The entries of workers that send no messages: the revision, and when it was first seen.
    silent: HashMap<String, (u64, Instant)>,
    /// How often they were counted.
    counts: u64,
    /// When their keys were read.
    keys_read: Option<Instant>,
}

impl Discovery<'_> {
    /// Reads all entries, and registers the groups in the order of their names.
    async fn read_all(&mut self) -> Result<(), Error> {
        // Not by a watch: workers renew their entries more often while there is one.
        self.read_keys().await?;
        self.shared.looked.send_replace(true);
        Ok(())
    }

    async fn count(&self) -> Result<u64, Error> {
        if let [all] = &*self.keys
            && all == ">"
        {
            return self.store.count().await.map_err(refused());
        }
        let counts = self.keys.iter().map(|pattern| self.store.count_matching(pattern));
        Ok(try_join_all(counts).await.map_err(refused())?.into_iter().sum())
    }

    /// Handles the messages that have arrived: a worker that comes must not hide one that died.
    async fn hear_waiting(
        &mut self,
        notices: &mut (impl Stream<Item = ClusterMessage> + Unpin),
    ) -> Result<(), Error> {
        for _ in 0..HEARD_AT_ONCE {
            let Some(Some(notice)) = notices.next().now_or_never() else { break };
            self.hear(&notice).await?;
        }
        Ok(())
    }

    /// Handles a worker's message.
    async fn hear(&mut self, notice: &ClusterMessage) -> Result<(), Error> {
        let signer = self.shared.line.cluster.signer();
        let place = [notice.subject.as_str()];
        let body = match signer.open_fresh(
            Purpose::Notice,
            &place,
            &notice.payload,
            unix_milliseconds(),
        ) {
            Ok(opened) => opened.body,
            Err(error) => {
                signer.refused(Purpose::Notice, &notice.subject, &error);
                return Ok(());
            }
        };
        let presence: Presence = match wire::read("what a worker says of itself", &body) {
            Ok(presence) => presence,
            Err(error) => {
                tracing::debug!("`{}`: {error}", notice.subject);
                return Ok(());
            }
        };
        let key = self.shared.line.cluster.names().member(&presence.group, &presence.worker);
        self.entries.insert(key.clone());
        if let Some(group) = self.note(&key, presence).await? {
            show(self.shared, self.shared.group(&group)).await;
        }
        Ok(())
    }

    /// Handles a worker's entry. Returns the group whose offer may have changed.
    async fn note_entry(
        &mut self,
        key: &str,
        value: Option<&Bytes>,
    ) -> Result<Option<String>, Error> {
        self.entries.insert(key.to_owned());
        let Some(value) = value else {
            self.departs(key);
            return Ok(self.leaves(key));
        };
        let Some(body) = present(&self.shared.line.cluster, key, value) else { return Ok(None) };
        match wire::read::<Presence>("what a worker says of itself", &body) {
            Ok(presence) => self.note(key, presence).await,
            Err(error) => {
                tracing::debug!("`{key}`: {error}");
                Ok(None)
            }
        }
    }

    /// Notes that a worker has left: its entry expires, or is erased.
    fn departs(&mut self, key: &str) {
        if self.left.insert(key.to_owned()) && self.shared.line.cluster.groups().has_key(key) {
            let mut departed = self.shared.departed.lock().unwrap_or_else(PoisonError::into_inner);
            departed.push((Instant::now(), key.to_owned()));
        }
    }

    fn leaves(&self, key: &str) -> Option<String> {
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let names = self.shared.line.cluster.names();
        let worker = key.rsplit('.').next().unwrap_or_default();
        let has_left =
            |group: &Arc<Group>| *key == names.member(group.name(), worker) && group.leaves(worker);
        let group = groups.into_iter().find(has_left)?;
        tracing::info!("worker {worker} of group '{}' has left", group.name());
        Some(group.name().to_string())
    }

    /// Handles what a worker says. Returns the group whose offer may have changed.
    async fn note(&mut self, key: &str, presence: Presence) -> Result<Option<String>, Error> {
        if presence.leaving {
            self.departs(key);
        } else {
            // One that was taken for dead may come back.
            self.left.remove(key);
        }
        if !self.shared.line.cluster.groups().has(&presence.group) {
            return Ok(None);
        }
        let group = self.shared.group(&presence.group);
        match group.notes(&presence) {
            // Another task may have replaced the servers, so this is checked each time.
            Some(_) => Ok(Some(presence.group)),
            None if presence.leaving => Ok(None),
            None => {
                let Some(offer) = offer_of(self.shared, key, &presence.tools).await? else {
                    // It is read again.
                    self.entries.remove(key);
                    return Ok(None);
                };
                let name = presence.group.clone();
                tracing::info!("worker {} of group '{name}' is there", presence.worker);
                group.joins(presence, offer);
                Ok(Some(name))
            }
        }
    }

    /// Reads entries, many at once: messages that come meanwhile wait.
    async fn read(&mut self, mut keys: Vec<String>) -> Result<(), Error> {
        let groups = self.shared.line.cluster.groups();
        keys.retain(|key| !self.left.contains(key) && groups.has_key(key));
        let store = self.store;
        let read = async |key: String| (store.get(&key).await, key);
        let mut entries = stream::iter(keys).map(read).buffered(READ_AT_ONCE);
        let mut groups = BTreeSet::new();
        while let Some((entry, key)) = entries.next().await {
            let Some(entry) = entry.map_err(refused())? else {
                // It has expired; or a replica does not have it yet, and it is read again.
                self.entries.remove(&key);
                self.silent.remove(&key);
                continue;
            };
            if self.is_old(&entry) {
                groups.extend(self.leaves(&entry.key));
                continue;
            }
            groups.extend(self.note_entry(&entry.key, entry.value.as_ref()).await?);
        }
        for group in groups {
            show(self.shared, self.shared.group(&group)).await;
        }
        Ok(())
    }

    /// Returns whether this is the entry of a worker that sends no messages, and was not renewed for long.
    fn is_old(&mut self, entry: &KeyValueEntry) -> bool {
        let Some((revision, seen)) = self.silent.get_mut(&entry.key) else { return false };
        if *revision != entry.revision {
            (*revision, *seen) = (entry.revision, Instant::now());
        }
        seen.elapsed() >= SILENCE
    }

    /// Returns the keys of workers that send no messages, also of those that are not renewed.
    fn silent(&mut self) -> Vec<String> {
        let names = self.shared.line.cluster.names();
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let key = |group: &Group, worker: &str| names.member(group.name(), worker);
        let of_group = |group: Arc<Group>| -> Vec<_> {
            group.silent_workers().iter().map(|worker| key(&group, worker)).collect()
        };
        let now = Instant::now();
        for key in groups.into_iter().flat_map(of_group) {
            // There is no revision 0, so that the first one that is read is a new one.
            self.silent.entry(key).or_insert((0, now));
        }
        self.silent.keys().cloned().collect()
    }
}

/// Registers what the group offers now, on a blocking thread: checking workers' schemas may take long.
pub(super) async fn show(shared: &Arc<GroupsInner>, group: Arc<Group>) {
    let shared = shared.clone();
    if spawn_blocking(move || shared.show(&group)).await.is_err() {
        tracing::warn!("what workers offer could not be checked");
    }
}
