//! A bucket as it was last seen, in memory: reading it costs no way to NATS, and goes on while NATS is away.
//!
//! If the cluster has a key, entries are signed for their bucket and key, and others are passed over. What would be harmful if it
//! came back, such as a revoked token, is not deleted: a signed entry without a value takes its place. A gateway that
//! has seen this entry believes nothing older, and writes it again if it is gone.

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
    transport::{Entry, KeyValue},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::Error;

/// How long it is until a bucket that could not be followed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// How often it is tried to be faster than others.
const TRIES: usize = 16;

/// A bucket, as it was last seen.
pub struct Mirror {
    cluster: Cluster,
    bucket: Bucket,
    entries: RwLock<Entries>,
    /// Counts what has changed; 0 as long as nothing is known.
    changes: watch::Sender<u64>,
}

type Entries = BTreeMap<String, MirrorEntry>;

/// A value, as it was last seen.
#[derive(Clone, Debug)]
struct MirrorEntry {
    /// As it lies in the bucket, signed if the cluster has a key.
    whole: Bytes,
    /// What it says; empty if it was removed for good.
    value: Bytes,
    /// When it was signed, in milliseconds since 1970; 0 without a key.
    signed_ms: u64,
    revision: u64,
    seen: Instant,
}

/// What came of a value that was to be the first under its key.
#[derive(Debug)]
pub enum CreateOutcome {
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
        let mut watch = store.watch().await.map_err(failed)?;
        let count = store.count().await.map_err(failed)?;
        // What was removed while we did not look is not told, so all is read anew before anything is forgotten.
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
        self.value(key).and_then(|value| read(key, &value))
    }

    /// All that lies under keys that begin so, by key. What cannot be understood is left out, with a warning.
    pub fn all<T: DeserializeOwned>(&self, beginning: &str) -> Vec<(String, T)> {
        let entries = self.read();
        let found = under(&entries, beginning).filter(|(_, kept)| !kept.value.is_empty());
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
        self.lay(key, self.signed(key, value)?).await
    }

    async fn lay(&self, key: &str, whole: Bytes) -> Result<(), Error> {
        let put = self.store().await?.put(key, whole.clone()).await;
        let revision = put.map_err(|reason| self.refused("keep a value", reason))?;
        self.see(key, whole, revision);
        Ok(())
    }

    /// Lays a value under a key, unless there is one; it is seen here at once.
    ///
    /// # Errors
    /// NATS cannot be reached, or does not take it.
    pub async fn create(&self, key: &str, value: &impl Serialize) -> Result<CreateOutcome, Error> {
        let failed = |reason| self.refused("keep a value", reason);
        let store = self.store().await?;
        // Somebody without the key may just have taken it away.
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
            // What was removed, and what nobody of this cluster has put there, gives way.
            whole = self.signed(key, value)?;
            made = store.update(key, whole.clone(), revision).await.map_err(failed)?;
        }
        Err(failed("others were always faster".into()))
    }

    /// What lies under a key now, asked of NATS.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn fetch(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let entry = self.entry(key).await?;
        Ok(match entry.filter(|entry| entry.value.is_some()) {
            Some(entry) => self.taken_in(entry),
            None => self.value(key).filter(|_| self.is_lasting(key)),
        })
    }

    /// Returns the entry as it is stored, without checking its signature.
    async fn entry(&self, key: &str) -> Result<Option<Entry>, Error> {
        let entry = self.store().await?.get(key).await;
        entry.map_err(|reason| self.refused("read a value", reason))
    }

    /// Takes an entry in, and returns what is true of its key then.
    fn taken_in(&self, entry: Entry) -> Option<Bytes> {
        let key = entry.key.clone();
        // Whoever follows the bucket puts it right.
        let _ = self.apply(&mut self.write(), entry);
        self.changed();
        self.value(&key)
    }

    /// Removes what lies under a key, for all.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn remove(&self, key: &str) -> Result<(), Error> {
        if !self.is_lasting(key) {
            return self.purge(key).await;
        }
        // Who could write there could put back what is merely gone.
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

    /// Removes what nobody asks for any more, without a trace.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn erase(&self, key: &str) -> Result<(), Error> {
        self.purge(key).await?;
        let erased = self.store().await?.erase(key).await;
        erased.map_err(|reason| self.refused("remove a value", reason))
    }

    /// The bucket; an error at once where NATS is away. Otherwise what is sent now would be done when it is back, although we
    /// had said that it was not.
    async fn store(&self) -> Result<&dyn KeyValue, Error> {
        match self.cluster.is_connected() {
            true => Ok(self.cluster.bucket(self.bucket).await?),
            false => Err(Error::Away { address: self.cluster.address().to_owned() }),
        }
    }

    fn refused(&self, what: &'static str, reason: BoxError) -> Error {
        Error::Refused { address: self.cluster.address().to_owned(), what, reason }
    }

    /// Remembers what we know already, before it is told.
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
    value.inspect_err(|error| tracing::warn!(%error, key, "not to be understood")).ok()
}
