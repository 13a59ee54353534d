//! Compares the number of entries with those that are known, and removes workers whose entry is missing.
//!
//! If there are fewer than expected, a worker may have died: the keys are read at once. Other differences can wait until it is
//! their turn, since in a large fleet the keys are many bytes.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::{COUNTED, Discovery, READ_AT_ONCE, SILENCE, refused, show, without_reply};
use crate::{
    Error,
    groups::group::{Group, MissingWorker},
};

/// After how many counts the keys are read anyway: as many workers may have come as have gone.
const KEYS_AGAIN: u64 = 15;

/// How many keys are read each second at most, on average, unless a worker has died: many may come all the time.
const KEYS_EACH_SECOND: usize = 2_000;

/// How many entries of workers that have left are looked up at each count. If there are more, the keys are read.
const LEFT_LOOKED_UP: usize = 200;

/// After how many counts the entries of workers that send no messages are read again.
const SILENT_AGAIN: u64 = 2;

impl Discovery<'_> {
    /// Reads what may have changed without a message.
    pub(super) async fn compare(&mut self, number: u64) -> Result<(), Error> {
        self.counts += 1;
        if self.counts.is_multiple_of(SILENT_AGAIN) {
            let silent = self.silent();
            self.read(silent).await?;
        }
        self.forget_expired().await?;
        // Otherwise one that has left and expires may hide one that comes, or be taken for one that died.
        let is_left_known = self.left.len() <= LEFT_LOOKED_UP;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let may_expire = if is_left_known { 0 } else { self.left.len() };
        let is_fewer = number.saturating_add(may_expire) < self.entries.len();
        let is_sure = is_left_known && !self.counts.is_multiple_of(KEYS_AGAIN);
        if number == self.entries.len() && is_sure && self.missing().is_empty() {
            return Ok(());
        }
        if is_fewer || !self.has_read_lately() {
            self.read_keys().await?;
        }
        self.remove_missing().await;
        Ok(())
    }

    /// Looks up the entries of workers that have left, unless there are many: they expire, as those of workers that died do.
    async fn forget_expired(&mut self) -> Result<(), Error> {
        if self.left.len() > LEFT_LOOKED_UP {
            return Ok(());
        }
        let left: Vec<_> = self.left.iter().cloned().collect();
        let store = self.store;
        let look_up = async |key: String| (store.get(&key).await, key);
        let mut found = stream::iter(left).map(look_up).buffered(READ_AT_ONCE);
        while let Some((entry, key)) = found.next().await {
            if entry.map_err(refused())?.is_none() {
                self.left.remove(&key);
                self.entries.remove(&key);
            }
        }
        Ok(())
    }

    /// Returns whether the keys were read so recently that they are not read again, unless a worker has died.
    fn has_read_lately(&self) -> bool {
        let seconds = u32::try_from(self.entries.len() / KEYS_EACH_SECOND).unwrap_or(u32::MAX);
        self.keys_read.is_some_and(|at| at.elapsed() < COUNTED.saturating_mul(seconds))
    }

    /// Reads the keys, and the entries that are new.
    pub(super) async fn read_keys(&mut self) -> Result<(), Error> {
        self.keys_read = Some(Instant::now());
        let mut keys = HashSet::new();
        for pattern in &self.keys {
            keys.extend(self.store.live_keys(pattern).await.map_err(refused())?);
        }
        let known = std::mem::replace(&mut self.entries, keys.clone());
        self.left.retain(|key| keys.contains(key));
        self.read(keys.difference(&known).cloned().collect()).await
    }

    /// Returns the workers without an entry.
    fn missing(&self) -> Vec<(Arc<Group>, MissingWorker)> {
        let names = self.shared.line.cluster.names();
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let of_group = |group: Arc<Group>| {
            let is_live = |worker: &str| self.entries.contains(&names.member(group.name(), worker));
            let missing = group.missing(is_live);
            missing.into_iter().map(move |worker| (group.clone(), worker))
        };
        groups.into_iter().flat_map(of_group).collect()
    }

    /// Removes workers without an entry: those that do not reply, and those that cannot and are missing for long.
    async fn remove_missing(&self) {
        let (asked, silent): (Vec<_>, Vec<_>) =
            self.missing().into_iter().partition(|(_, worker)| worker.notifies);
        let is_gone = |(_, worker): &(_, MissingWorker)| worker.since.elapsed() >= SILENCE;
        let silent = silent.into_iter().filter(is_gone);
        let name = |(group, worker): (Arc<Group>, MissingWorker)| (group, worker.worker);
        let asked = asked.into_iter().map(name).collect();
        let mut gone = without_reply(&self.shared.line.cluster, asked).await;
        gone.extend(silent.map(name));
        let mut groups = BTreeSet::new();
        for (group, worker) in gone {
            if group.leaves(&worker) {
                tracing::warn!("worker {worker} of group '{}' stopped responding", group.name());
                groups.insert(group.name().to_string());
            }
        }
        for group in groups {
            show(self.shared, self.shared.group(&group)).await;
        }
    }
}
