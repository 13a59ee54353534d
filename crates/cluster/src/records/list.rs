//! Queries over the records of all nodes.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_nats::{
    datetime,
    jetstream::{consumer::DeliverPolicy, stream::Stream},
};
use switchboard_audit::{CallDetail, CallStage, CallUpdate, Filter, Record, RecordTest};
use switchboard_toolcall::CallId;
use switchboard_workers::{Cluster, Error};

use super::{
    follow::ClusterFollower,
    nodes::Nodes,
    open,
    window::{self, StreamRecord},
};

/// How many messages are read at once, at least and at most.
const WINDOWS: (u64, u64) = (256, 1 << 16);
/// How far the clocks of nodes and servers may differ without a call being missed.
pub(super) const SKEW: Duration = Duration::from_secs(2);
/// How far out of order a node may report calls that begin at the same time.
const ORDER: Duration = Duration::from_millis(500);

/// The records of all nodes. Cheap to make.
pub struct Records {
    pub(super) cluster: Cluster,
    /// How many messages a question may read.
    pub(super) most_read: u64,
}

/// The progress of a long read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// How many messages were read.
    pub read: u64,
    /// How many there are in total.
    pub all: u64,
}

impl Records {
    /// Creates the records of a cluster.
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, most_read: u64::MAX }
    }

    /// Limits how many messages a question may read before it fails.
    #[must_use]
    pub fn reading_at_most(self, most_read: u64) -> Self {
        Self { most_read, ..self }
    }

    /// Returns the calls that match, newest first: at most the filter's `limit`, none older than its `since`.
    ///
    /// The stream is read backwards, and no further than needed: calls of earlier messages began before the servers received
    /// the oldest message that was read, and each node reports its calls in the order in which they began.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or does not allow it.
    pub async fn list(
        &self,
        filter: &Filter,
        passes: RecordTest<'_>,
        mut watch: impl FnMut(ReadProgress),
    ) -> Result<Vec<Record>, Error> {
        let Some(stream) = open(&self.cluster).await? else { return Ok(Vec::new()) };
        let state = &stream.cached_info().state;
        let (first, all) = (state.first_sequence, state.messages);
        let (mut last, mut read) = (state.last_sequence, 0);
        let most = filter.limit.unwrap_or(usize::MAX);
        let passes =
            |record: &Record| filter.after.is_none_or(|after| record.id < after) && passes(record);
        let mut calls = QueuedCalls::default();
        let mut nodes = Nodes::of(&self.cluster);
        let mut size = (most as u64).saturating_mul(2).clamp(WINDOWS.0, WINDOWS.1);
        while all > 0 && last >= first {
            if read >= self.most_read {
                return Err(Error::TooManyRecords { most: self.most_read });
            }
            let from = first.max((last + 1).saturating_sub(size));
            let mut oldest = None;
            let begin = DeliverPolicy::ByStartSequence { start_sequence: from };
            window::read(
                &stream,
                begin,
                last,
                Vec::new(),
                |StreamRecord { published, received_update, .. }| {
                    oldest = oldest.or(Some(published));
                    calls.take(received_update, passes);
                    read += 1;
                    watch(ReadProgress { read, all });
                    true
                },
            )
            .await?;
            last = from.saturating_sub(1);
            let Some(oldest) = oldest else { continue };
            // No call in the unread messages began later than this.
            let latest = match nodes.latest(&stream, &calls, oldest).await? {
                Some(latest) => (latest + ORDER).min(oldest + SKEW),
                None => oldest + SKEW,
            };
            let is_enough = || {
                let newer = calls.records().filter(|record| record.started >= latest);
                newer.take(most).count() >= most
            };
            if filter.since.is_some_and(|since| latest < since) || is_enough() {
                break;
            }
            size = (size * 2).min(WINDOWS.1);
        }
        let mut records = calls.into_records();
        records.sort_by_key(|record| std::cmp::Reverse((record.started, record.id)));
        records.truncate(most);
        Ok(records)
    }

    /// Returns the details of the calls whose ids begin with `beginning`, at most `most` of them.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn show(&self, beginning: &str, most: usize) -> Result<Vec<CallDetail>, Error> {
        let Some(lowest) = earliest(beginning) else { return Ok(Vec::new()) };
        let Some(stream) = open(&self.cluster).await? else { return Ok(Vec::new()) };
        let state = &stream.cached_info().state;
        if state.messages == 0 || !has_any_since(&stream, lowest) {
            return Ok(Vec::new());
        }
        let beginning = beginning.trim().to_ascii_uppercase();
        let only = CallId::parse(&beginning);
        let mut found = HashMap::<CallId, CallUpdate>::new();
        let from = DeliverPolicy::ByStartTime { start_time: instant(lowest) };
        let last = state.last_sequence;
        let mut read = 0;
        window::read(
            &stream,
            from,
            last,
            Vec::new(),
            |StreamRecord { received_update, .. }| {
                read += 1;
                if read > self.most_read {
                    return false;
                }
                let Some(update) = received_update else { return true };
                if update.id.to_string().starts_with(&beginning) {
                    keep(&mut found, update.id, update, |update| update.stage);
                }
                let is_all = only.and_then(|only| found.get(&only));
                is_all.is_none_or(|update| update.stage != CallStage::Ended)
            },
        )
        .await?;
        if read > self.most_read {
            return Err(Error::TooManyRecords { most: self.most_read });
        }
        let mut found: Vec<_> = found.into_values().filter_map(|update| update.detail()).collect();
        found.sort_by_key(|detail| detail.record.id);
        found.truncate(most);
        Ok(found)
    }

    /// Follows calls that end from now on.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn follow(&self) -> Result<ClusterFollower, Error> {
        ClusterFollower::new(self.cluster.clone(), &[CallStage::Ended, CallStage::Unknown]).await
    }
}

/// The calls that were read, each at its latest stage.
#[derive(Default)]
pub(super) struct QueuedCalls {
    /// Without a record if the call does not pass at that stage: it need not stay in memory.
    calls: HashMap<CallId, (CallStage, Option<Record>)>,
    /// For each node, when the oldest call began whose start was read.
    pub(super) begun: HashMap<String, SystemTime>,
}

impl QueuedCalls {
    fn take(&mut self, update: Option<CallUpdate>, passes: impl Fn(&Record) -> bool) {
        let Some(update) = update else { return };
        if update.stage == CallStage::Started {
            let began = began(update.id);
            let oldest = self.begun.entry(update.node.id.clone()).or_insert(began);
            *oldest = began.min(*oldest);
        }
        if self.calls.get(&update.id).is_some_and(|(stage, _)| *stage >= update.stage) {
            return;
        }
        if let Some(detail) = update.detail() {
            let record = Some(detail.record).filter(passes);
            self.calls.insert(update.id, (update.stage, record));
        }
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.calls.values().filter_map(|(_, record)| record.as_ref())
    }

    fn into_records(self) -> Vec<Record> {
        self.calls.into_values().filter_map(|(_, record)| record).collect()
    }
}

/// Keeps the entry at the later stage.
fn keep<T>(found: &mut HashMap<CallId, T>, id: CallId, new: T, stage: impl Fn(&T) -> CallStage) {
    match found.entry(id) {
        Entry::Occupied(mut old) if stage(old.get()) < stage(&new) => _ = old.insert(new),
        Entry::Occupied(_) => {}
        Entry::Vacant(place) => _ = place.insert(new),
    }
}

/// Returns the earliest time at which calls with this prefix of their ids can have begun; `None` if no id has it.
fn earliest(beginning: &str) -> Option<SystemTime> {
    const DIGITS: usize = 26;
    let beginning = beginning.trim();
    if beginning.is_empty() || beginning.len() > DIGITS {
        return None;
    }
    let lowest = format!("{beginning}{}", "0".repeat(DIGITS - beginning.len()));
    CallId::parse(&lowest).map(began)
}

/// Returns when a call began, which is part of its id.
pub(super) fn began(id: CallId) -> SystemTime {
    let milliseconds = u64::try_from(id.number() >> 80).unwrap_or_default();
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}

/// Whether there are messages since then: a consumer that starts after the last message would wait.
pub(super) fn has_any_since(stream: &Stream, since: SystemTime) -> bool {
    let last: SystemTime = stream.cached_info().state.last_timestamp.into();
    last + SKEW >= since
}

/// Converts a time for NATS, with room for clocks that differ.
pub(super) fn instant(time: SystemTime) -> datetime::DateTime {
    let time = time.checked_sub(SKEW).unwrap_or(UNIX_EPOCH);
    let nanoseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let nanoseconds = i128::try_from(nanoseconds).unwrap_or_default();
    datetime::from_nanos(nanoseconds).unwrap_or_else(|_| UNIX_EPOCH.into())
}
