//! Counts what a connection receives.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::transport::KeyValueEntry;

/// How much a connection has received: messages of subscriptions, and replies to what it asked of buckets.
#[derive(Clone, Debug, Default)]
pub struct MemoryTraffic(Arc<TrafficCounters>);

#[derive(Debug, Default)]
struct TrafficCounters {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl MemoryTraffic {
    /// Returns how many messages were received.
    pub fn messages(&self) -> u64 {
        self.0.messages.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of subjects, keys and values were received.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.messages.fetch_add(1, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_entry(&self, entry: &KeyValueEntry) {
        self.add(entry.key.len() + entry.value.as_ref().map_or(0, bytes::Bytes::len));
    }
}
