//! The state of each call: an entry under its id, changed by compare-and-set only.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_runtime::QueueState;
use switchboard_toolcall::CallId;
use switchboard_toolcall::time::unix_milliseconds;

use super::{Job, JobPayload};
use crate::{
    Bucket, Cluster, Error, Purpose, transport,
    wire::{self, ProgressStep, WireFailure, WireOutcome},
};

/// What entries are signed for.
pub(crate) const PURPOSE: Purpose = Purpose::Entry(Bucket::Calls);

/// The stored state of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobState {
    pub(crate) call: CallId,
    /// The tool's full name.
    pub(crate) name: String,
    pub(crate) group: String,
    /// The tool's name at the worker.
    pub(crate) tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) caller: Option<String>,
    pub(crate) state: QueueState,
    /// How many attempts were started.
    pub(crate) attempts: u32,
    /// In milliseconds since 1970.
    pub(crate) queued_ms: u64,
    pub(crate) changed_ms: u64,
    /// The sequence number of its message; the same call may be in the stream twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<u64>,
    /// The worker of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// How many heartbeats that worker has sent.
    #[serde(default)]
    pub(crate) beats: u64,
    /// Whether the last change was only a heartbeat.
    #[serde(default)]
    pub(crate) only_beats: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<ProgressStep>,
    /// Whether cancellation was requested.
    #[serde(default)]
    pub(crate) wants_cancel: bool,
    /// Why the last attempt will be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<WireFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<JobOutcome>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobOutcome {
    pub(crate) outcome: JobPayload<WireOutcome>,
    /// How long the last attempt took.
    pub(crate) micros: u64,
    /// The id of the worker's own record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<CallId>,
}

impl JobState {
    /// Creates the state of a call that was not started.
    pub(crate) fn new(job: &Job, message: u64) -> Self {
        let now = unix_milliseconds();
        Self {
            call: job.id(),
            name: job.name.clone(),
            group: job.group.clone(),
            tool: job.request.tool.clone(),
            caller: job.request.caller.clone(),
            state: QueueState::Queued,
            attempts: 0,
            queued_ms: now,
            changed_ms: now,
            message: Some(message),
            worker: None,
            beats: 0,
            only_beats: false,
            progress: None,
            wants_cancel: false,
            last_error: None,
            ended: None,
        }
    }

    /// Returns whether more than a heartbeat changed.
    pub(crate) fn is_news(&self) -> bool {
        !self.only_beats
    }

    /// Returns whether the states are equal, ignoring when they were written.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let other = Self { changed_ms: self.changed_ms, ..other.clone() };
        *self == other
    }

    /// Sets the time of the change to now.
    pub(crate) fn changes(&mut self) {
        self.only_beats = false;
        // Watchers tell changes apart by their time.
        self.changed_ms = unix_milliseconds().max(self.changed_ms + 1);
    }
}

/// An entry as it was read.
#[derive(Clone, Debug)]
pub(crate) struct JobEntry {
    pub(crate) kept: JobState,
    pub(crate) revision: u64,
    /// Its age when it was read, by the servers' clock.
    age: Duration,
}

impl JobEntry {
    /// Returns the state to show. If the worker has been silent for much too long, the call counts as waiting for its
    /// next attempt.
    pub(crate) fn state(&self, lost_after: Duration) -> QueueState {
        match self.kept.state {
            QueueState::Running if self.age > lost_after * 3 => QueueState::Queued,
            state => state,
        }
    }
}

/// Returns the state of a call. `None` if there is no such call.
pub(crate) async fn get(cluster: &Cluster, call: CallId) -> Result<Option<JobEntry>, Error> {
    let (key, refused) = (call.to_string(), Error::refused(format!("look up the call {call}")));
    let store = cluster.bucket_of(Bucket::Calls, &key).await?;
    let entry = store.get(&key).await.map_err(refused)?;
    let Some(transport::KeyValueEntry { value: Some(value), revision, age, .. }) = entry else {
        return Ok(None);
    };
    let opened = cluster.signer().open(PURPOSE, &[&key], &value);
    let opened = opened.inspect_err(|error| cluster.signer().refused(PURPOSE, &key, error))?;
    let kept = wire::read("the entry of a call", &opened.body)?;
    Ok(Some(JobEntry { kept, revision, age }))
}

/// Creates the state of a call. Returns `None` if there is one.
pub(crate) async fn create(cluster: &Cluster, kept: JobState) -> Result<Option<JobEntry>, Error> {
    let key = kept.call.to_string();
    let store = cluster.bucket_of(Bucket::Calls, &key).await?;
    let value = cluster.signer().write(PURPOSE, &[&key], &kept)?;
    let refused = Error::refused(format!("note the call {}", kept.call));
    let created = store.create(&key, value).await.map_err(refused)?;
    Ok(created.map(|revision| JobEntry { kept, revision, age: Duration::ZERO }))
}

/// Replaces the entry that was read. Returns `None` if it has changed meanwhile.
pub(crate) async fn update(
    cluster: &Cluster,
    kept: JobState,
    revision: u64,
) -> Result<Option<JobEntry>, Error> {
    let key = kept.call.to_string();
    let store = cluster.bucket_of(Bucket::Calls, &key).await?;
    let value = cluster.signer().write(PURPOSE, &[&key], &kept)?;
    let refused = Error::refused(format!("note how the call {} is", kept.call));
    let updated = store.update(&key, value, revision).await.map_err(refused)?;
    Ok(updated.map(|revision| JobEntry { kept, revision, age: Duration::ZERO }))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use switchboard_toolcall::CallContext;

    use super::*;
    use crate::wire::WorkerRequest;

    #[test]
    fn nobody_is_at_a_call_of_which_nothing_was_said_for_long() {
        let cx = CallContext::default();
        let request = WorkerRequest::new(CallId::generate(), "resize", Map::new(), &cx);
        let (name, group) = ("gpu__resize".to_owned(), "gpu".to_owned());
        let mut kept = JobState::new(&Job { name, group, may_repeat: true, request }, 1);
        let seen = |kept: &JobState, silent_ms: u64| {
            let age = Duration::from_millis(silent_ms);
            JobEntry { kept: kept.clone(), revision: 1, age }.state(Duration::from_secs(30))
        };
        assert_eq!(seen(&kept, 1_000_000), QueueState::Queued);
        kept.state = QueueState::Running;
        assert_eq!(seen(&kept, 60_000), QueueState::Running);
        assert_eq!(seen(&kept, 120_000), QueueState::Queued);
        kept.state = QueueState::Done;
        assert_eq!(seen(&kept, 1_000_000), QueueState::Done);
    }
}
