//! How far a journal was shipped.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::StoreNode;

/// The progress of shipping. Cheap to clone.
#[derive(Clone, Default)]
pub struct ShippingProgress(Arc<ShippingFigures>);

#[derive(Default)]
struct ShippingFigures {
    shipped: AtomicU64,
    failures: AtomicU64,
    behind: AtomicU64,
    node: Mutex<Option<StoreNode>>,
}

impl ShippingProgress {
    /// Returns how many lines of this process the destination has acknowledged.
    pub fn shipped(&self) -> u64 {
        self.0.shipped.load(Ordering::Relaxed)
    }

    /// Returns how many attempts to ship failed and were repeated.
    pub fn failures(&self) -> u64 {
        self.0.failures.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of the journal are still to be shipped.
    pub fn behind(&self) -> u64 {
        self.0.behind.load(Ordering::Relaxed)
    }

    /// Returns the node that ships; `None` if another process ships this store.
    pub fn node(&self) -> Option<StoreNode> {
        self.0.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_node(&self, node: Option<StoreNode>) {
        *self.0.node.lock().unwrap_or_else(PoisonError::into_inner) = node;
    }

    pub(super) fn set_behind(&self, bytes: u64) {
        self.0.behind.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_shipped(&self, lines: usize) {
        self.0.shipped.fetch_add(lines as u64, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.0.failures.fetch_add(1, Ordering::Relaxed);
        self.set_node(None);
    }
}
