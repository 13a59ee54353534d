//! A bucket as it was last seen, in memory: reading it costs no way to NATS, and goes on while NATS is away.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use async_nats::{
    connection::State,
    jetstream::kv::{CreateErrorKind, Entry, Operation, Store},
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use switchboard_toolcall::BoxError;
use switchboard_workers::{Bucket, Cluster, wire};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::Error;

/// How long it is until a bucket that could not be followed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// A bucket, as it was last seen.
pub struct Mirror {
    cluster: Cluster,
    bucket: Bucket,
    entries: RwLock<BTreeMap<String, Kept>>,
    /// Counts what has changed; 0 as long as nothing is known.
    changes: watch::Sender<u64>,
}

/// A value, as it was last seen.
#[derive(Clone, Debug)]
struct Kept {
    value: Bytes,
    revision: u64,
    seen: Instant,
}

/// What came of a value that was to be the first under its key.
#[derive(Debug)]
pub enum Created {
    /// It is.
    Now,
    /// This one was there before.
    Before(Bytes),
}

impl Mirror {
    /// A bucket of which nothing is known before somebody runs [`follow`](Self::follow).
    pub fn new(cluster: &Cluster, bucket: Bucket) -> Arc<Self> {
        let (entries, changes) = (RwLock::default(), watch::Sender::new(0));
        Arc::new(Self { cluster: cluster.clone(), bucket, entries, changes })
    }

    /// Follows the bucket. Ends only when dropped.
    pub async fn follow(self: Arc<Self>) {
        loop {
            if let Err(error) = self.follow_once().await {
                // Who cannot do without it says so.
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, bucket = self.bucket.word(), "not followed");
            }
            sleep(AGAIN).await;
        }
    }

    async fn follow_once(&self) -> Result<(), Error> {
        let store = self.store().await?;
        let failed = |reason| self.refused("watch a bucket", reason);
        let mut watch =
            store.watch_with_history(">").await.map_err(|error| failed(error.into()))?;
        let status = store.status().await.map_err(|error| failed(error.into()))?;
        // What was removed while we did not look is not told, so all is read anew before anything is forgotten.
        let mut fresh = Some(BTreeMap::new());
        if status.values() == 0 {
            self.replace(fresh.take());
        }
        while let Some(entry) = watch.next().await {
            let entry = entry.map_err(|error| failed(error.into()))?;
            let is_current = entry.seen_current;
            match &mut fresh {
                Some(fresh) => apply(fresh, entry),
                None => {
                    apply(&mut self.write(), entry);
                    self.changed();
                }
            }
            if is_current {
                self.replace(fresh.take());
            }
        }
        Ok(())
    }

    /// Waits until something is known, or so long.
    ///
    /// # Errors
    /// NATS has not been reached.
    pub async fn known(&self, within: Duration) -> Result<(), Error> {
        let mut changes = self.changes.subscribe();
        let known = timeout(within, changes.wait_for(|count| *count > 0)).await;
        let not_yet = || Error::NotYet { address: self.cluster.address().to_owned() };
        known.map(drop).map_err(|_| not_yet())
    }

    /// Whether anything is known.
    ///
    /// # Errors
    /// NATS has not been reached since we started.
    pub fn check_known(&self) -> Result<(), Error> {
        match *self.changes.borrow() {
            0 => Err(Error::NotYet { address: self.cluster.address().to_owned() }),
            _ => Ok(()),
        }
    }

    /// Tells whenever something has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What lies under a key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.read().get(key).and_then(|kept| read(key, &kept.value))
    }

    /// All that lies under keys that begin so, by key. What cannot be understood is left out, with a warning.
    pub fn all<T: DeserializeOwned>(&self, beginning: &str) -> Vec<(String, T)> {
        let entries = self.read();
        let found = entries.range(beginning.to_owned()..);
        let found = found.take_while(|(key, _)| key.starts_with(beginning));
        found.filter_map(|(key, kept)| Some((key.clone(), read(key, &kept.value)?))).collect()
    }

    /// How long ago something was last written under a key.
    pub fn age(&self, key: &str) -> Option<Duration> {
        self.read().get(key).map(|kept| kept.seen.elapsed())
    }

    /// Lays a value under a key; it is seen here at once.
    ///
    /// # Errors
    /// NATS cannot be reached, or does not take it.
    pub async fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Error> {
        let value = wire::write(value)?;
        let put = self.store().await?.put(key, value.clone()).await;
        let revision = put.map_err(|error| self.refused("keep a value", error.into()))?;
        self.see(key, value, revision);
        Ok(())
    }

    /// Lays a value under a key, unless there is one; it is seen here at once.
    ///
    /// # Errors
    /// NATS cannot be reached, or does not take it.
    pub async fn create(&self, key: &str, value: &impl Serialize) -> Result<Created, Error> {
        let value = wire::write(value)?;
        let failed = |reason| self.refused("keep a value", reason);
        let store = self.store().await?;
        match store.create(key, value.clone()).await {
            Ok(revision) => {
                self.see(key, value, revision);
                Ok(Created::Now)
            }
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
                match self.fetch(key).await? {
                    Some(before) => Ok(Created::Before(before)),
                    None => Err(failed("what was there has gone".into())),
                }
            }
            Err(error) => Err(failed(error.into())),
        }
    }

    /// What lies under a key now, asked of NATS.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn fetch(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let entry = self.store().await?.entry(key).await;
        let entry = entry.map_err(|error| self.refused("read a value", error.into()))?;
        let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) else {
            return Ok(None);
        };
        self.see(key, entry.value.clone(), entry.revision);
        Ok(Some(entry.value))
    }

    /// Removes what lies under a key, for all.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn remove(&self, key: &str) -> Result<(), Error> {
        let removed = self.store().await?.purge(key).await;
        removed.map_err(|error| self.refused("remove a value", error.into()))?;
        self.write().remove(key);
        self.changed();
        Ok(())
    }

    /// Removes what nobody asks for any more, without a trace.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn erase(&self, key: &str) -> Result<(), Error> {
        self.remove(key).await?;
        let store = self.store().await?;
        let purged = store.stream.purge().filter(format!("{}{key}", store.prefix)).await;
        purged.map(drop).map_err(|error| self.refused("remove a value", error.into()))
    }

    /// The bucket; an error at once where NATS is away. Otherwise what is sent now would be done when it is back, although we
    /// had said that it was not.
    async fn store(&self) -> Result<&Store, Error> {
        match self.cluster.client().connection_state() {
            State::Connected => Ok(self.cluster.bucket(self.bucket).await?),
            State::Pending | State::Disconnected => {
                Err(Error::Away { address: self.cluster.address().to_owned() })
            }
        }
    }

    fn refused(&self, what: &'static str, reason: BoxError) -> Error {
        Error::Refused { address: self.cluster.address().to_owned(), what, reason }
    }

    /// Remembers what we know already, before it is told.
    fn see(&self, key: &str, value: Bytes, revision: u64) {
        let mut entries = self.write();
        if entries.get(key).is_none_or(|kept| kept.revision < revision) {
            entries.insert(key.to_owned(), Kept { value, revision, seen: Instant::now() });
            drop(entries);
            self.changed();
        }
    }

    fn replace(&self, fresh: Option<BTreeMap<String, Kept>>) {
        if let Some(fresh) = fresh {
            *self.write() = fresh;
            self.changed();
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Kept>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Kept>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply(entries: &mut BTreeMap<String, Kept>, entry: Entry) {
    let Entry { key, value, revision, operation, .. } = entry;
    // What we wrote ourselves may be known before it is told.
    if entries.get(&key).is_some_and(|kept| kept.revision > revision) {
        return;
    }
    match operation {
        Operation::Put => {
            entries.insert(key, Kept { value, revision, seen: Instant::now() });
        }
        Operation::Delete | Operation::Purge => {
            entries.remove(&key);
        }
    }
}

fn read<T: DeserializeOwned>(key: &str, value: &Bytes) -> Option<T> {
    let value = serde_json::from_slice(value);
    value.inspect_err(|error| tracing::warn!(%error, key, "not to be understood")).ok()
}
