//! The members of a group, and their offers, each known once, however many workers have it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, btree_map},
    sync::Arc,
};

use tokio::time::Instant;

use crate::offer::{Presence, WorkerOffer};

/// A worker of a group.
pub(super) struct GroupMember {
    pub(super) presence: Presence,
    pub(super) offer: Arc<WorkerOffer>,
    /// Since when its entry is missing.
    pub(super) missing: Option<Instant>,
    /// When it was last heard of.
    pub(super) heard: Instant,
}

/// The workers of a group.
#[derive(Default)]
pub(super) struct Members {
    /// By id, which sorts by age.
    workers: BTreeMap<String, GroupMember>,
    /// The offers by hash, each with the workers that have it.
    offers: HashMap<String, OfferHolders>,
}

struct OfferHolders {
    offer: Arc<WorkerOffer>,
    workers: BTreeSet<String>,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    pub(super) fn values(&self) -> btree_map::Values<'_, String, GroupMember> {
        self.workers.values()
    }

    pub(super) fn values_mut(&mut self) -> btree_map::ValuesMut<'_, String, GroupMember> {
        self.workers.values_mut()
    }

    pub(super) fn get(&self, worker: &str) -> Option<&GroupMember> {
        self.workers.get(worker)
    }

    pub(super) fn get_mut(&mut self, worker: &str) -> Option<&mut GroupMember> {
        self.workers.get_mut(worker)
    }

    /// Adds a worker, in place of what was known of it.
    pub(super) fn insert(&mut self, member: GroupMember) {
        let worker = member.presence.worker.clone();
        self.remove(&worker);
        let held = self.offers.entry(member.offer.hash.clone());
        let offer = member.offer.clone();
        let held = held.or_insert_with(|| OfferHolders { offer, workers: BTreeSet::new() });
        held.workers.insert(worker.clone());
        self.workers.insert(worker, member);
    }

    /// Removes a worker. Returns whether it was known.
    pub(super) fn remove(&mut self, worker: &str) -> bool {
        let Some(member) = self.workers.remove(worker) else { return false };
        let hash = &member.offer.hash;
        if let Some(held) = self.offers.get_mut(hash) {
            held.workers.remove(worker);
            if held.workers.is_empty() {
                self.offers.remove(hash);
            }
        }
        true
    }

    /// Returns the offer with this hash, if a worker has it.
    pub(super) fn offer(&self, hash: &str) -> Option<Arc<WorkerOffer>> {
        self.offers.get(hash).map(|held| held.offer.clone())
    }

    /// Returns each offer once, in the order of the newest worker that has it.
    pub(super) fn offers(&self) -> Vec<Arc<WorkerOffer>> {
        let mut held: Vec<_> = self.offers.values().collect();
        held.sort_by_key(|held| held.workers.last());
        held.into_iter().map(|held| held.offer.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(worker: &str, hash: &str) -> GroupMember {
        let presence = Presence {
            group: "gpu".to_owned(),
            worker: worker.to_owned(),
            tools: hash.to_owned(),
            capacity: 1,
            running: 0,
            leaving: false,
            notifies: true,
            version: "0".to_owned(),
            started: 0,
        };
        let offer = WorkerOffer { hash: hash.to_owned(), tools: Vec::new() };
        GroupMember { presence, offer: Arc::new(offer), missing: None, heard: Instant::now() }
    }

    #[test]
    fn offers_are_counted_and_sorted_by_the_newest_that_has_them() {
        let mut members = Members::default();
        for (worker, hash) in [("1", "old"), ("2", "old"), ("3", "new"), ("4", "old")] {
            members.insert(member(worker, hash));
        }
        let hashes = |members: &Members| -> Vec<String> {
            members.offers().iter().map(|offer| offer.hash.clone()).collect()
        };
        assert_eq!(hashes(&members), ["new", "old"]);
        assert!(members.remove("4") && !members.remove("4"));
        assert_eq!(hashes(&members), ["old", "new"]);
        // A worker that offers something else counts for that alone.
        members.insert(member("3", "newest"));
        assert_eq!(hashes(&members), ["old", "newest"]);
        assert!(members.offer("new").is_none());
        assert!(members.remove("1") && members.remove("2"));
        assert_eq!((hashes(&members), members.len()), (vec!["newest".to_owned()], 1));
    }
}
