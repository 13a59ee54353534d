//! The queue as entrances see it.

use std::{sync::Arc, time::Duration};

use switchboard_runtime::{DurableCalls, QueueState, QueuedCall, RanElsewhere, ToolExecutor};
use switchboard_toolcall::{BoxError, BoxFuture, CallId};
use tracing::debug;

use super::{
    Jobs, Payload,
    attempt::cancelled,
    enqueue::within,
    figures::Figures,
    state::{self, Entry, JobOutcome, JobState},
};
use crate::{
    Bucket, Error, Purpose,
    clock::moment,
    wire::{Notice, Outcome},
};

/// Tells how calls in the queue are, and cancels them. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    jobs: Jobs,
    executor: ToolExecutor,
}

impl Queue {
    /// The queue of these jobs; `executor` shapes their results.
    pub fn new(jobs: Jobs, executor: ToolExecutor) -> Self {
        Self { jobs, executor }
    }

    /// The jobs themselves.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// As [`Jobs::figures`].
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn figures(&self) -> Result<Vec<Figures>, Error> {
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
                let ran = RanElsewhere {
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

    /// Gives a call up: at once where nobody runs it, else through whoever does.
    async fn give_up(&self, id: CallId) -> Result<bool, Error> {
        let cluster = self.jobs.cluster();
        loop {
            let Some(entry) = within(state::get(cluster, id)).await? else { return Ok(false) };
            let state = entry.state(self.jobs.config().lost_after.0);
            let Entry { mut kept, revision, .. } = entry;
            match state {
                state if state.is_over() => return Ok(false),
                QueueState::Queued => {
                    let outcome = Payload::Here(Outcome::Failure(cancelled(&kept)));
                    kept.state = QueueState::Cancelled;
                    kept.ended = Some(JobOutcome { outcome, micros: 0, record: None });
                }
                _ => kept.wants_cancel = true,
            }
            kept.changes();
            if within(state::update(cluster, kept.clone(), revision)).await?.is_some() {
                self.tell(&kept).await;
                return Ok(true);
            }
        }
    }

    /// Lets those who have the call know; who does not hear it looks at the entry before long.
    async fn tell(&self, kept: &JobState) {
        let cluster = self.jobs.cluster();
        if kept.state.is_over() {
            // Its message would only be delivered to be passed over.
            if let Some(number) = kept.message {
                _ = cluster.queue().delete(number).await;
            }
            return;
        }
        let (subject, notice) = (cluster.names().group(&kept.group), Notice::Cancel(kept.call));
        let Ok(notice) = cluster.signer().write(Purpose::Notice, &[&subject], &notice) else {
            return;
        };
        if let Err(error) = cluster.publish(subject, None, notice).await {
            debug!(%error, "a worker is not told at once that a call is cancelled");
        }
    }
}

impl DurableCalls for Queue {
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        Box::pin(async move { Ok(self.found(id).await?) })
    }

    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>> {
        Box::pin(async move { Ok(self.give_up(id).await?) })
    }

    fn kept(&self) -> Option<Duration> {
        Bucket::Calls.max_age()
    }
}
