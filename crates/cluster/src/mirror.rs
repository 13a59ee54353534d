//! A bucket as it was last seen, in memory: reads need no round trip to NATS, and work while NATS is away.
//!
//! If the cluster has a key, entries are signed for their bucket and key, and others are ignored. An entry that would be harmful
//! if it were restored, such as a revoked token, is not deleted: a signed entry without a value replaces it. A gateway that
//! has seen this entry ignores older ones, and writes it again if it is gone.

mod swap;
mod trust;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use switchboard_toolcall::BoxError;
use switchboard_workers::{
    Bucket, Cluster,
    transport::{KeyValue, KeyValueEntry},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::Error;

/// How long to wait before a bucket that could not be followed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// How many times a compare-and-set is tried.
const TRIES: usize = 16;

/// A bucket, as it was last seen.
pub struct Mirror {
    cluster: Cluster,
    bucket: Bucket,
    entries: RwLock<Entries>,
    /// Increments with each change; 0 until the bucket was read.
    changes: watch::Sender<u64>,
}

type Entries = BTreeMap<String, MirrorEntry>;

/// A value, as it was last seen.
#[derive(Clone, Debug)]
struct MirrorEntry {
    /// The stored bytes, signed if the cluster has a key.
    whole: Bytes,
    /// Its value; empty if it was removed for good.
    value: Bytes,
    /// When it was signed, in milliseconds since 1970; 0 without a key.
    signed_ms: u64,
    revision: u64,
    seen: Instant,
}

/// The outcome of creating a value.
#[derive(Debug)]
pub enum CreateOutcome {
    /// The value was created.
    Now,
    /// There was a value already; this one.
    Before(Bytes),
}

/// A change of a value.
pub(crate) enum ValueChange<T> {
    /// The value stays as it is.
    Same,
    /// The value is replaced.
    Put(T),
    /// The value is removed.
    Gone,
}

impl Mirror {
    /// Creates a mirror, which is empty until [`follow`](Self::follow) runs.
    pub fn new(cluster: &Cluster, bucket: Bucket) -> Arc<Self> {
        let (entries, changes) = (RwLock::default(), watch::Sender::new(0));
        Arc::new(Self { cluster: cluster.clone(), bucket, entries, changes })
    }

    /// Follows the bucket. Ends only when dropped.
    pub async fn follow(self: Arc<Self>) {
        loop {
            if let Err(error) = self.follow_once().await {
                // Callers that need it report the error.
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, bucket = self.bucket.word(), "not followed");
            }
            sleep(AGAIN).await;
        }
    }

    async fn follow_once(&self) -> Result<(), Error> {
        let store = self.store().await?;
        let failed = |reason| self.refused("watch a bucket", reason);
        let mut watch = store.watch().await.map_err(failed)?;
        let count = store.count().await.map_err(failed)?;
        // Removals during the outage were missed, so everything is read again before anything is dropped.
        let mut fresh = Some(BTreeMap::new());
        if count == 0 {
            self.replace(store, fresh.take()).await;
        }
        while let Some(entry) = watch.next().await {
            let entry = entry.map_err(failed)?;
            let is_current = entry.is_current;
            match &mut fresh {
                Some(fresh) => drop(self.apply(fresh, entry)),
                None => {
                    let wrong = self.apply(&mut self.write(), entry);
                    self.changed();
                    self.put_right(store, wrong).await;
                }
            }
            if is_current {
                self.replace(store, fresh.take()).await;
            }
        }
        Ok(())
    }

    /// Waits until the bucket was read, at most `within`.
    ///
    /// # Errors
    /// Fails if NATS has not been reached.
    pub async fn known(&self, within: Duration) -> Result<(), Error> {
        let mut changes = self.changes.subscribe();
        let known = timeout(within, changes.wait_for(|count| *count > 0)).await;
        let not_yet = || Error::NotYet { address: self.cluster.address().to_owned() };
        known.map(drop).map_err(|_| not_yet())
    }

    /// Checks that the bucket was read.
    ///
    /// # Errors
    /// Fails if NATS has not been reached since we started.
    pub(crate) fn check_known(&self) -> Result<(), Error> {
        match *self.changes.borrow() {
            0 => Err(Error::NotYet { address: self.cluster.address().to_owned() }),
            _ => Ok(()),
        }
    }

    /// Returns a receiver that is notified of each change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the value of a key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.value(key).and_then(|value| read(key, &value))
    }

    /// Returns all values whose keys begin with `beginning`, by key. Unreadable values are left out, with a warning.
    pub fn all<T: DeserializeOwned>(&self, beginning: &str) -> Vec<(String, T)> {
        let entries = self.read();
        let found = under(&entries, beginning).filter(|(_, kept)| !kept.value.is_empty());
        found.filter_map(|(key, kept)| Some((key.clone(), read(key, &kept.value)?))).collect()
    }

    /// Returns how long ago the value of a key was last written.
    pub fn age(&self, key: &str) -> Option<Duration> {
        self.read().get(key).map(|kept| kept.seen.elapsed())
    }

    /// Writes the value of a key; it is visible here at once.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or refuses it.
    pub async fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Error> {
        self.lay(key, self.signed(key, value)?).await
    }

    async fn lay(&self, key: &str, whole: Bytes) -> Result<(), Error> {
        let put = self.store().await?.put(key, whole.clone()).await;
        let revision = put.map_err(|reason| self.refused("keep a value", reason))?;
        self.see(key, whole, revision);
        Ok(())
    }

    /// Writes the value of a key, unless there is one; it is visible here at once.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or refuses it.
    pub async fn create(&self, key: &str, value: &impl Serialize) -> Result<CreateOutcome, Error> {
        let failed = |reason| self.refused("keep a value", reason);
        let store = self.store().await?;
        // An attacker without the key may just have removed it.
        if let Some(known) = self.value(key).filter(|_| self.is_lasting(key)) {
            return Ok(CreateOutcome::Before(known));
        }
        let mut whole = self.signed(key, value)?;
        let mut made = store.create(key, whole.clone()).await.map_err(failed)?;
        for _ in 0..TRIES {
            if let Some(revision) = made {
                self.see(key, whole, revision);
                return Ok(CreateOutcome::Now);
            }
            let Some(entry) = self.entry(key).await? else { continue };
            let revision = entry.revision;
            if let Some(before) = self.taken_in(entry) {
                return Ok(CreateOutcome::Before(before));
            }
            // Removed entries, and those not signed by this cluster, are replaced.
            whole = self.signed(key, value)?;
            made = store.update(key, whole.clone(), revision).await.map_err(failed)?;
        }
        Err(failed("others were always faster".into()))
    }

    /// Changes the value of a key, if there is one. `decide` runs again if somebody else changed it meanwhile.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached or refuses it, or `decide` fails.
    pub(crate) async fn change<T: Serialize>(
        &self,
        key: &str,
        decide: impl Fn(&Bytes) -> Result<ValueChange<T>, Error> + Send,
    ) -> Result<(), Error> {
        let failed = |reason| self.refused("keep a value", reason);
        for _ in 0..TRIES {
            let entry = self.entry(key).await?.filter(|entry| entry.value.is_some());
            let Some(entry) = entry else { return Ok(()) };
            let revision = entry.revision;
            let Some(value) = self.taken_in(entry) else { return Ok(()) };
            let changed = match decide(&value)? {
                ValueChange::Same => return Ok(()),
                // A change that somebody else makes meanwhile does not keep it.
                ValueChange::Gone => return self.remove(key).await,
                ValueChange::Put(changed) => changed,
            };
            let whole = self.signed(key, &changed)?;
            let updated = self.store().await?.update(key, whole.clone(), revision).await;
            if let Some(revision) = updated.map_err(failed)? {
                self.see(key, whole, revision);
                return Ok(());
            }
        }
        Err(failed("others were always faster".into()))
    }

    /// Returns the current value of a key, read from NATS.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn fetch(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let entry = self.entry(key).await?;
        Ok(match entry.filter(|entry| entry.value.is_some()) {
            Some(entry) => self.taken_in(entry),
            None => self.value(key).filter(|_| self.is_lasting(key)),
        })
    }

    /// Returns the entry as it is stored, without checking its signature.
    async fn entry(&self, key: &str) -> Result<Option<KeyValueEntry>, Error> {
        let entry = self.store().await?.get(key).await;
        entry.map_err(|reason| self.refused("read a value", reason))
    }

    /// Applies an entry. Returns the valid state of its key.
    fn taken_in(&self, entry: KeyValueEntry) -> Option<Bytes> {
        let key = entry.key.clone();
        // An entry to be restored is left to the task that follows the bucket.
        let _ = self.apply(&mut self.write(), entry);
        self.changed();
        self.value(&key)
    }

    /// Removes the value of a key, for all gateways.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn remove(&self, key: &str) -> Result<(), Error> {
        if !self.is_lasting(key) {
            return self.purge(key).await;
        }
        // A deleted entry could be restored by anyone who can write to NATS, so a signed entry without a value replaces it.
        let before = self.signed_ms(key);
        let whole = self.signer().sign_after(self.purpose(), &[key], &Bytes::new(), before);
        self.lay(key, whole).await
    }

    async fn purge(&self, key: &str) -> Result<(), Error> {
        let removed = self.store().await?.remove(key).await;
        removed.map_err(|reason| self.refused("remove a value", reason))?;
        self.write().remove(key);
        self.changed();
        Ok(())
    }

    /// Deletes an old entry, without a signed replacement.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn erase(&self, key: &str) -> Result<(), Error> {
        self.purge(key).await?;
        let erased = self.store().await?.erase(key).await;
        erased.map_err(|reason| self.refused("remove a value", reason))
    }

    /// Returns the bucket; fails at once if NATS is away. Otherwise a write would be buffered and sent after a reconnect, although
    /// we had reported that it failed.
    async fn store(&self) -> Result<&dyn KeyValue, Error> {
        match self.cluster.is_connected() {
            true => Ok(self.cluster.bucket(self.bucket).await?),
            false => Err(Error::Away { address: self.cluster.address().to_owned() }),
        }
    }

    fn refused(&self, what: &'static str, reason: BoxError) -> Error {
        Error::Refused { address: self.cluster.address().to_owned(), what, reason }
    }

    /// Applies our own write before it is delivered back.
    fn see(&self, key: &str, whole: Bytes, revision: u64) {
        let mut entries = self.write();
        if entries.get(key).is_none_or(|kept| kept.revision < revision)
            && let Some(kept) = self.open(key, whole, revision)
        {
            entries.insert(key.to_owned(), kept);
            drop(entries);
            self.changed();
        }
    }

    fn value(&self, key: &str) -> Option<Bytes> {
        self.read().get(key).map(|kept| kept.value.clone()).filter(|value| !value.is_empty())
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Entries> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn under<'a>(
    entries: &'a Entries,
    beginning: &'a str,
) -> impl Iterator<Item = (&'a String, &'a MirrorEntry)> {
    let found = entries.range(beginning.to_owned()..);
    found.take_while(move |(key, _)| key.starts_with(beginning))
}

fn read<T: DeserializeOwned>(key: &str, value: &Bytes) -> Option<T> {
    let value = serde_json::from_slice(value);
    value.inspect_err(|error| tracing::warn!(%error, key, "an entry cannot be parsed")).ok()
}
