//! Buckets in memory: every write gets the bucket's next revision, and entries expire without notifying watchers.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::{sync::mpsc, time::Instant};

use super::{MemoryOperation, MemoryServers, MemoryServersState, MemoryTraffic, messages::matches};
use crate::{
    Bucket,
    transport::{EntryStream, KeyValue, KeyValueEntry, TransportFuture},
};

#[derive(Default)]
pub(super) struct MemoryBucketState {
    entries: BTreeMap<String, StoredValue>,
    last: u64,
    watchers: Vec<MemoryWatcher>,
    /// Until when no entry can expire.
    swept_until: Option<Instant>,
}

struct MemoryWatcher {
    /// Of the keys.
    pattern: String,
    entries: mpsc::UnboundedSender<KeyValueEntry>,
}

#[derive(Clone)]
struct StoredValue {
    /// `None` if it was removed.
    value: Option<Bytes>,
    revision: u64,
    written: Instant,
}

impl StoredValue {
    fn entry(&self, key: &str, is_current: bool) -> KeyValueEntry {
        KeyValueEntry {
            key: key.to_owned(),
            value: self.value.clone(),
            revision: self.revision,
            age: self.written.elapsed(),
            is_current,
        }
    }
}

impl MemoryBucketState {
    /// Removes the entries that have expired.
    fn sweep(&mut self, max_age: Duration) {
        let now = Instant::now();
        if self.swept_until.is_some_and(|until| now < until) {
            return;
        }
        self.entries.retain(|_, stored| now.duration_since(stored.written) < max_age);
        let oldest = self.entries.values().map(|stored| stored.written).min();
        self.swept_until = Some(oldest.unwrap_or(now) + max_age);
    }

    fn write(&mut self, key: &str, value: Option<Bytes>) -> u64 {
        self.last += 1;
        let stored = StoredValue { value, revision: self.last, written: Instant::now() };
        let entry = stored.entry(key, true);
        self.watchers.retain(|watcher| match matches(&watcher.pattern, key) {
            true => watcher.entries.send(entry.clone()).is_ok(),
            false => !watcher.entries.is_closed(),
        });
        self.entries.insert(key.to_owned(), stored);
        self.last
    }

    /// Replaces the value with this revision; 0 if there must be none.
    fn update(&mut self, key: &str, value: Bytes, revision: u64) -> Option<u64> {
        let found = self.entries.get(key).map_or(0, |stored| stored.revision);
        (found == revision).then(|| self.write(key, Some(value)))
    }

    /// Returns the entries whose keys match.
    fn matching(&self, pattern: &str) -> impl Iterator<Item = (&String, &StoredValue)> {
        self.entries.iter().filter(move |(key, _)| matches(pattern, key))
    }

    fn watch(&mut self, pattern: &str, with_current: bool) -> EntryStream {
        let (entries, changes) = mpsc::unbounded_channel();
        let mut current: Vec<_> = match with_current {
            true => self.matching(pattern).map(|(key, stored)| stored.entry(key, false)).collect(),
            false => Vec::new(),
        };
        self.watchers.push(MemoryWatcher { pattern: pattern.to_owned(), entries });
        // In the order in which they were written, as a stream has them.
        current.sort_by_key(|entry| entry.revision);
        if let Some(last) = current.last_mut() {
            last.is_current = true;
        }
        let changes =
            stream::unfold(changes, async |mut changes| Some((changes.recv().await?, changes)));
        stream::iter(current).chain(changes).map(Ok).boxed()
    }
}

pub(super) struct MemoryBucket {
    servers: MemoryServers,
    name: String,
    max_age: Option<Duration>,
    traffic: MemoryTraffic,
}

impl MemoryBucket {
    pub(super) fn new(
        servers: MemoryServers,
        name: String,
        bucket: Bucket,
        traffic: MemoryTraffic,
    ) -> Self {
        Self { servers, name, max_age: bucket.max_age(), traffic }
    }

    /// Counts the entries of a watch as they arrive.
    fn counted(&self, entries: EntryStream) -> EntryStream {
        let traffic = self.traffic.clone();
        let count = move |entry: &Result<KeyValueEntry, _>| {
            if let Ok(entry) = entry {
                traffic.add_entry(entry);
            }
        };
        entries.inspect(count).boxed()
    }

    fn perform<'a, T: Send + 'a>(
        &'a self,
        operation: MemoryOperation,
        work: impl FnOnce(&mut MemoryBucketState) -> T + Send + 'a,
    ) -> TransportFuture<'a, T> {
        let work = move |state: &mut MemoryServersState| {
            let store = state.buckets.entry(self.name.clone()).or_default();
            if let Some(max_age) = self.max_age {
                store.sweep(max_age);
            }
            work(store)
        };
        Box::pin(self.servers.perform(operation, work))
    }
}

impl KeyValue for MemoryBucket {
    fn get<'a>(&'a self, key: &'a str) -> TransportFuture<'a, Option<KeyValueEntry>> {
        self.perform(MemoryOperation::Read, |store| {
            let entry = store.entries.get(key).map(|stored| stored.entry(key, false));
            entry.iter().for_each(|entry| self.traffic.add_entry(entry));
            entry
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, u64> {
        self.perform(MemoryOperation::Write, |store| store.write(key, Some(value)))
    }

    fn create<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, Option<u64>> {
        self.perform(MemoryOperation::Write, |store| match store.entries.get(key) {
            Some(StoredValue { value: Some(_), .. }) => None,
            _ => Some(store.write(key, Some(value))),
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        revision: u64,
    ) -> TransportFuture<'a, Option<u64>> {
        self.perform(MemoryOperation::Write, move |store| store.update(key, value, revision))
    }

    fn remove<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()> {
        self.perform(MemoryOperation::Write, |store| _ = store.write(key, None))
    }

    fn erase<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()> {
        self.perform(MemoryOperation::Write, |store| _ = store.entries.remove(key))
    }

    fn watch_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, EntryStream> {
        self.perform(MemoryOperation::Read, |store| self.counted(store.watch(pattern, true)))
    }

    fn watch_new(&self) -> TransportFuture<'_, EntryStream> {
        self.perform(MemoryOperation::Read, |store| self.counted(store.watch(">", false)))
    }

    fn count(&self) -> TransportFuture<'_, u64> {
        self.count_matching(">")
    }

    fn count_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, u64> {
        self.perform(MemoryOperation::Read, |store| {
            self.traffic.add(size_of::<u64>());
            store.matching(pattern).count() as u64
        })
    }

    fn watchers(&self) -> TransportFuture<'_, u64> {
        self.perform(MemoryOperation::Read, |store| {
            self.traffic.add(size_of::<u64>());
            store.watchers.retain(|watcher| !watcher.entries.is_closed());
            store.watchers.len() as u64
        })
    }

    fn live_keys<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, Vec<String>> {
        self.perform(MemoryOperation::Read, |store| {
            let keys: Vec<_> = store.matching(pattern).map(|(key, _)| key.clone()).collect();
            self.traffic.add(keys.iter().map(String::len).sum());
            keys
        })
    }

    fn keys(&self) -> TransportFuture<'_, Vec<String>> {
        self.perform(MemoryOperation::Read, |store| {
            let values = store.entries.iter().filter(|(_, stored)| stored.value.is_some());
            values.map(|(key, _)| key.clone()).collect()
        })
    }
}
