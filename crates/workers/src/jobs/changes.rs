//! A stream of changes of queued calls.

use std::time::{Duration, SystemTime};

use futures_util::{
    StreamExt,
    future::{ready, try_join_all},
    stream::{BoxStream, once, select_all},
};
use serde::Serialize;
use switchboard_runtime::QueueState;
use switchboard_toolcall::{BoxError, CallId, ErrorKind};
use tokio::time::sleep;
use tracing::warn;

use super::{
    JobPayload, Jobs,
    state::{JobState, PURPOSE},
};
use crate::{
    Bucket, Error,
    clock::moment,
    transport::KeyValueEntry,
    wire::{self, ProgressStep, WireFailure, WireOutcome},
};

/// The pause before the servers are tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The changed state of a queued call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobChange {
    /// The id under which it was queued.
    pub id: CallId,
    /// The tool's full name.
    pub tool: String,
    /// The group whose workers run it.
    pub server: String,
    /// Who made the call.
    pub caller: Option<String>,
    /// Its state.
    pub state: QueueState,
    /// How many attempts were started.
    pub attempts: u32,
    /// The worker of the last attempt.
    pub worker: Option<String>,
    /// The latest progress that the tool reported.
    pub progress: Option<ProgressStep>,
    /// Why the last attempt failed, if it will be retried.
    pub last_error: Option<WireFailure>,
    /// The kind of error, if it ended with one.
    pub error_kind: Option<ErrorKind>,
    /// When it was queued.
    #[serde(skip)]
    pub queued: SystemTime,
    /// When it changed.
    #[serde(skip)]
    pub changed: SystemTime,
}

/// A stream of changes from now on.
pub struct JobChanges {
    jobs: Jobs,
    watch: Option<StateChanges>,
}

/// The changed entries of all partitions; `None` if the stream of one has ended.
type StateChanges = BoxStream<'static, Option<Result<KeyValueEntry, BoxError>>>;

impl Jobs {
    /// Watches all queued calls from now on.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn changes(&self) -> Result<JobChanges, Error> {
        let watch = Some(self.watch().await?);
        Ok(JobChanges { jobs: self.clone(), watch })
    }

    async fn watch(&self) -> Result<StateChanges, Error> {
        let partitions = self.cluster().partitions_of(Bucket::Calls).await?;
        let streams = try_join_all(partitions.iter().map(|partition| partition.watch_new()));
        let streams = streams.await.map_err(Error::refused("tell of queued calls"))?;
        // Without its end, the others would go on without it.
        let streams = streams.into_iter().map(|changes| changes.map(Some).chain(once(ready(None))));
        Ok(select_all(streams.map(StreamExt::boxed)).boxed())
    }
}

impl JobChanges {
    /// Returns the next change; waits while the servers are unreachable.
    pub async fn next(&mut self) -> JobChange {
        loop {
            let Some(watch) = &mut self.watch else {
                sleep(PAUSE).await;
                self.watch = self.jobs.watch().await.ok();
                continue;
            };
            match watch.next().await.flatten() {
                Some(Ok(KeyValueEntry { key, value: Some(value), .. })) => {
                    let opened = self.jobs.cluster().signer().open(PURPOSE, &[&key], &value);
                    let kept = opened.and_then(|opened| {
                        wire::read::<JobState>("the entry of a call", &opened.body)
                    });
                    match kept {
                        // A heartbeat alone is not a change.
                        Ok(kept) if kept.is_news() => return kept.into(),
                        Ok(_) => {}
                        Err(error) => warn!(%error, "an entry is skipped"),
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    warn!(%error, "queued calls cannot be watched for a while");
                    self.watch = None;
                }
                None => self.watch = None,
            }
        }
    }
}

impl From<JobState> for JobChange {
    fn from(kept: JobState) -> Self {
        let outcome = kept.ended.as_ref().map(|ended| &ended.outcome);
        let error_kind = match outcome {
            Some(JobPayload::Here(WireOutcome::Failure(failure))) => Some(failure.kind),
            // Large outcomes are successful ones.
            _ => None,
        };
        Self {
            error_kind,
            id: kept.call,
            tool: kept.name,
            server: kept.group,
            caller: kept.caller,
            state: kept.state,
            attempts: kept.attempts,
            worker: kept.worker,
            progress: kept.progress,
            last_error: kept.last_error.filter(|_| kept.state == QueueState::Queued),
            queued: moment(kept.queued_ms),
            changed: moment(kept.changed_ms),
        }
    }
}
