//! Compares the number of entries with those that are known, and removes workers whose entry is missing.
//!
//! If there are fewer than expected, a worker has died: the keys are read at once. Other differences can wait until it is
//! their turn, since in a large fleet the keys are many bytes.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, future::join_all, stream};
use tokio::time::{Instant, timeout};

use super::{COUNTED, Discovery, READ_AT_ONCE, refused, show};
use crate::{
    Cluster, Error, Purpose,
    groups::group::{Group, MissingWorker},
    replies,
    wire::WorkerNotice,
};

/// After how many counts the keys are read anyway: as many workers may have come as have gone.
const KEYS_AGAIN: u64 = 15;

/// How many keys are read each second at most, on average, unless a worker has died: many may come all the time.
const KEYS_EACH_SECOND: usize = 2_000;

/// How many entries of workers that have left are looked up at each count. If there are more, the keys are read.
const LEFT_LOOKED_UP: usize = 200;

/// After how many counts the entries of workers that send no messages are read again.
const SILENT_AGAIN: u64 = 3;

/// How long a worker without an entry may take to say that it is there.
const REPORTED: Duration = Duration::from_millis(700);

/// How many workers without an entry are asked at once.
const ASKED: usize = 1_000;

/// How long such questions may go on: meanwhile no messages are heard.
const ASKING: Duration = Duration::from_secs(2);

/// How long the entry of a worker that cannot be asked may be missing.
const SILENCE: Duration = Duration::from_secs(4);

impl Discovery<'_> {
    /// Reads what may have changed without a message.
    pub(super) async fn compare(&mut self, number: u64) -> Result<(), Error> {
        self.counts += 1;
        if self.counts.is_multiple_of(SILENT_AGAIN) {
            self.read(self.silent()).await?;
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
    async fn read_keys(&mut self) -> Result<(), Error> {
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
        let (mut asked, silent): (Vec<_>, Vec<_>) =
            self.missing().into_iter().partition(|(_, worker)| worker.notifies);
        let mut gone: Vec<_> =
            silent.into_iter().filter(|(_, worker)| worker.since.elapsed() >= SILENCE).collect();
        let cluster = &self.shared.line.cluster;
        let began = Instant::now();
        // Those that are not asked in time are asked when they are next found missing.
        while !asked.is_empty() && began.elapsed() < ASKING {
            let rest = asked.split_off(asked.len().min(ASKED));
            let replies =
                join_all(asked.iter().map(|(_, worker)| is_there(cluster, &worker.worker))).await;
            let is_any = replies.contains(&true);
            let found = asked.into_iter().zip(replies);
            gone.extend(found.filter(|(_, is_there)| !is_there).map(|(worker, _)| worker));
            asked = rest;
            // If none of so many is there, the rest is not either.
            if !is_any {
                gone.append(&mut asked);
            }
        }
        let mut groups = BTreeSet::new();
        for (group, MissingWorker { worker, .. }) in gone {
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

/// Asks a worker whether it is there. NATS says at once if it is not connected.
async fn is_there(cluster: &Cluster, worker: &str) -> bool {
    let subject = cluster.names().worker(worker);
    let signer = cluster.signer();
    let Ok(notice) = signer.write(Purpose::Notice, &[&subject], &WorkerNotice::Report) else {
        return false;
    };
    match timeout(REPORTED, cluster.request(subject, notice)).await {
        Ok(Ok(reply)) => replies::open(cluster, &reply).is_ok(),
        Ok(Err(_)) | Err(_) => false,
    }
}
