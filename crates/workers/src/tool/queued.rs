//! A call with a key that is queued: it outlives the gateway that made it, and a call with the same key waits for it instead of
//! running again (SPEC RN-2).

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use switchboard_runtime::QueueState;
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolError, ToolOutput};
use tokio::time::sleep;
use tracing::debug;

use super::WorkerTool;
use crate::{
    Jobs,
    jobs::{JobEntry, JobOutcome, JobState, state_of},
};

/// The first and the longest pause between two looks at the call.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// How often a call may be missing before it counts as forgotten: a replica may not have it yet.
const MOST_MISSES: u32 = 20;

impl WorkerTool {
    /// Returns the key under which a call is queued; `None` if it is not.
    pub(super) fn queue_key(&self, cx: &CallContext) -> Option<Arc<str>> {
        cx.call_key.clone().filter(|_| self.is_queued)
    }

    /// Queues the call, unless it was queued under this key before, and waits for its outcome. If the caller does not wait for it any
    /// more, the call is cancelled; if this process ends, it is not.
    pub(super) async fn run_queued(
        &self,
        args: Map<String, Value>,
        key: Arc<str>,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let jobs = self.group.jobs();
        let keyed = CallContext { idempotency_key: Some(key), ..cx.clone() };
        let id = jobs.enqueue(&self.spec, Value::Object(args), &keyed).await?;
        let mut waiting = WaitingCaller { jobs: jobs.clone(), id, has_ended: false };
        let outcome = self.outcome(id, cx).await;
        waiting.has_ended = true;
        outcome
    }

    /// Waits until a queued call has ended. While the servers cannot be reached, it asks again: the call goes on.
    async fn outcome(&self, id: CallId, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let jobs = self.group.jobs();
        let (mut pause, mut misses, mut seen) = (SHORTEST_PAUSE, 0, None);
        loop {
            match state_of(jobs, id).await {
                Ok(Some(JobEntry { kept: JobState { ended: Some(ended), state, .. }, .. })) => {
                    return self.ended(ended, state, cx).await;
                }
                Ok(Some(JobEntry { kept, .. })) => {
                    misses = 0;
                    if seen.replace(kept.changed_ms) != Some(kept.changed_ms) {
                        pause = SHORTEST_PAUSE;
                        kept.progress.into_iter().for_each(|step| cx.progress.report(step.into()));
                    }
                }
                Ok(None) if misses == MOST_MISSES => return Err(self.forgotten(id)),
                Ok(None) => misses += 1,
                Err(error) => debug!(call = %id, %error, "the queue is asked again: {error}"),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn ended(
        &self,
        ended: JobOutcome,
        state: QueueState,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        debug!(call = ?cx.call_id, state = state.code(), "a queued call has ended");
        let outcome = ended.outcome.get(self.group.cluster(), "what came of a call").await;
        let lost = |error: crate::Error| {
            let text = format!(
                "Tool '{}' has run, but its result cannot be read: {error}",
                self.spec.name
            );
            ToolError::new(ErrorKind::OutcomeUnknown, text).caused_by(error)
        };
        outcome.map_err(lost)?.into_result()
    }

    fn forgotten(&self, id: CallId) -> ToolError {
        let text = format!(
            "Tool '{}' may or may not have run: it was queued as {id}, and is no longer known",
            self.spec.name
        );
        ToolError::new(ErrorKind::OutcomeUnknown, text)
    }
}

/// Cancels a queued call if it is dropped before the call has ended.
struct WaitingCaller {
    jobs: Jobs,
    id: CallId,
    has_ended: bool,
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (jobs, id) = (self.jobs.clone(), self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = jobs.give_up(id).await {
                    debug!(call = %id, %error, "a queued call is not cancelled: {error}");
                }
            });
        }
    }
}
