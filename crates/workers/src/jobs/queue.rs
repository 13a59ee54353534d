//! The queue as gateways and commands see it.

use std::{sync::Arc, time::Duration};

use switchboard_runtime::{DurableCalls, QueueState, QueuedCall, RemoteOutcome, ToolExecutor};
use switchboard_toolcall::{BoxError, BoxFuture, CallId};
use tracing::debug;

use super::{
    JobPayload, Jobs,
    attempt::cancelled,
    enqueue::within,
    figures::QueueFigures,
    state::{self, JobEntry, JobOutcome, JobState},
};
use crate::{
    Bucket, Error, Purpose,
    clock::moment,
    wire::{WireOutcome, WorkerNotice},
};

/// Shows the state of queued calls, and cancels them. Cheap to clone.
#[derive(Clone)]
pub struct JobQueue {
    jobs: Jobs,
    executor: ToolExecutor,
}

impl JobQueue {
    /// Creates a view of these jobs; `executor` normalises their results.
    pub fn new(jobs: Jobs, executor: ToolExecutor) -> Self {
        Self { jobs, executor }
    }

    /// Returns the jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Like [`Jobs::figures`].
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn figures(&self) -> Result<Vec<QueueFigures>, Error> {
        self.jobs.figures().await
    }

    async fn found(&self, id: CallId) -> Result<Option<QueuedCall>, Error> {
        let Some(entry) = within(state::get(self.jobs.cluster(), id)).await? else {
            return Ok(None);
        };
        let (state, kept) = (entry.state(self.jobs.config().lost_after.0), entry.kept);
        let tool: Arc<str> = kept.name.as_str().into();
        let result = match kept.ended {
            None => None,
            Some(JobOutcome { outcome, micros, .. }) => {
                let outcome = outcome.get(self.jobs.cluster(), "what came of a call").await?;
                let ran = RemoteOutcome {
                    id,
                    tool: tool.clone(),
                    server: Some(kept.group.as_str().into()),
                    caller: kept.caller.as_deref().map(Into::into),
                    elapsed: Duration::from_micros(micros),
                    outcome: outcome.into_result(),
                };
                Some(self.executor.shape(ran).await)
            }
        };
        Ok(Some(QueuedCall {
            id,
            tool,
            caller: kept.caller.map(Into::into),
            state,
            attempts: kept.attempts,
            queued: moment(kept.queued_ms),
            changed: moment(kept.changed_ms),
            progress: kept.progress.map(Into::into),
            result,
        }))
    }
}

impl Jobs {
    /// Cancels a call: at once if no worker runs it, else through that worker.
    pub(crate) async fn give_up(&self, id: CallId) -> Result<bool, Error> {
        let cluster = self.cluster();
        loop {
            let Some(entry) = within(state::get(cluster, id)).await? else { return Ok(false) };
            let state = entry.state(self.config().lost_after.0);
            let JobEntry { mut kept, revision, .. } = entry;
            match state {
                state if state.is_over() => return Ok(false),
                QueueState::Queued => {
                    let outcome = JobPayload::Here(WireOutcome::Failure(cancelled(&kept)));
                    kept.state = QueueState::Cancelled;
                    kept.ended = Some(JobOutcome { outcome, micros: 0, record: None });
                }
                _ => kept.wants_cancel = true,
            }
            kept.changes();
            if within(state::update(cluster, kept.clone(), revision)).await?.is_some() {
                self.announce(&kept).await;
                return Ok(true);
            }
        }
    }

    /// Notifies the worker of the call; if the notice is lost, the worker sees the state soon.
    async fn announce(&self, kept: &JobState) {
        let cluster = self.cluster();
        if kept.state.is_over() {
            // Delete the message, which would only be delivered to be skipped.
            if let Some(number) = kept.message {
                _ = cluster.queue().delete(&kept.group, number).await;
            }
            return;
        }
        let (subject, notice) =
            (cluster.names().group(&kept.group), WorkerNotice::Cancel(kept.call));
        let Ok(notice) = cluster.signer().write(Purpose::Notice, &[&subject], &notice) else {
            return;
        };
        if let Err(error) = cluster.publish(subject, None, notice).await {
            debug!(%error, "a worker is not told at once that a call is cancelled");
        }
    }
}

impl DurableCalls for JobQueue {
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        Box::pin(async move { Ok(self.found(id).await?) })
    }

    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>> {
        Box::pin(async move { Ok(self.jobs.give_up(id).await?) })
    }

    fn retention(&self) -> Option<Duration> {
        Bucket::Calls.max_age()
    }
}
