//! Changes that a server reports, kept until they are handled: each once, and bounded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;
use switchboard_mcp_wire::ServerChange;
use tokio::sync::Notify;

/// How many changed resources are kept at once.
const MOST_RESOURCES: usize = 256;

/// How long the URI of a changed resource may be, in bytes.
const LONGEST_URI: usize = 8 * 1024;

/// Changes that were not handled yet.
#[derive(Default)]
pub(crate) struct PendingChanges {
    pending: Mutex<IndexSet<ServerChange>>,
    added: Notify,
}

impl PendingChanges {
    fn lock(&self) -> MutexGuard<'_, IndexSet<ServerChange>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a change; returns `false` if there are too many. A changed list is always added.
    pub(super) fn add(&self, changed: ServerChange) -> bool {
        let mut pending = self.lock();
        if let ServerChange::Resource(uri) = &changed
            && (uri.len() > LONGEST_URI || pending.len() >= MOST_RESOURCES)
            && !pending.contains(&changed)
        {
            return false;
        }
        pending.insert(changed);
        drop(pending);
        self.added.notify_one();
        true
    }

    /// Waits until there is a change, and returns it.
    ///
    /// # Cancel safety
    /// Dropping the future loses no change.
    pub(crate) async fn next(&self) -> ServerChange {
        loop {
            if let Some(changed) = self.lock().shift_remove_index(0) {
                return changed;
            }
            self.added.notified().await;
        }
    }

    /// Returns all changes so far.
    pub(crate) fn take(&self) -> IndexSet<ServerChange> {
        std::mem::take(&mut *self.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_of_changes_is_bounded_and_loses_no_list() {
        let changes = PendingChanges::default();
        for number in 0..10_000 {
            changes.add(ServerChange::Resource(format!("a://{number}")));
            assert!(changes.add(ServerChange::Tools));
        }
        assert!(!changes.add(ServerChange::Resource("b://".to_owned() + &"x".repeat(9000))));
        assert!(changes.add(ServerChange::Resource("a://0".to_owned())), "it is there already");
        assert!(changes.add(ServerChange::Prompts) && changes.add(ServerChange::Resources));
        assert_eq!(changes.next().await, ServerChange::Resource("a://0".to_owned()));
        let rest = changes.take();
        assert!(rest.len() < MOST_RESOURCES + 3, "{}", rest.len());
        for list in [ServerChange::Tools, ServerChange::Prompts, ServerChange::Resources] {
            assert!(rest.contains(&list), "{list:?}");
        }
        assert!(changes.take().is_empty());
    }
}
