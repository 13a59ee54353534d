//! Calls that outlive their callers: queued, run by any worker that is free, looked up by id.
//!
//! This is the trait for such a queue; `workers` implements it. A call is queued by
//! [`ToolExecutor::submit`](crate::ToolExecutor::submit): found, checked, allowed and recorded like any other, then
//! passed to [`Tool::enqueue`](switchboard_toolcall::Tool::enqueue).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_toolcall::{
    BoxError, BoxFuture, CallId, ErrorKind, ProgressUpdate, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};

use crate::{artifacts::ArtifactSource, call::ToolExecutor, normalise};

/// A queue of durable calls, as gateways and commands see it.
pub trait DurableCalls: Send + Sync {
    /// Returns the state of a queued call, `None` if there is no such call.
    ///
    /// # Errors
    /// The queue cannot be reached.
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>>;

    /// Requests cancellation of a queued call. Returns `false` if it had ended already.
    ///
    /// # Errors
    /// The queue cannot be reached.
    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>>;

    /// Waits until a queued call has changed after `since` or has ended. Returns `None` if there is no such call. This
    /// default polls; a queue that is notified of changes should override it.
    ///
    /// # Errors
    /// The queue cannot be reached.
    fn changed(
        &self,
        id: CallId,
        since: SystemTime,
    ) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        Box::pin(async move {
            let mut pause = SHORTEST_PAUSE;
            loop {
                match self.look(id).await? {
                    Some(call) if call.changed == since && !call.state.is_over() => {}
                    call => return Ok(call),
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        })
    }

    /// Returns for how long a call can be looked up after it was queued, `None` if it is never forgotten.
    fn retention(&self) -> Option<Duration> {
        None
    }
}

/// The first and the longest pause between two polls.
const SHORTEST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Checks whether a call may be queued: it may be repeated safely, or has an idempotency key.
///
/// # Errors
/// The reason why not, with a hint.
pub fn takes(tool: &ToolSpec, has_key: bool) -> Result<(), ToolError> {
    let name = &tool.name;
    if !tool.settings.durable {
        return Err(ToolError::not_durable(name));
    }
    if may_repeat(tool) || has_key {
        return Ok(());
    }
    let text = format!(
        "Tool '{name}' cannot be queued as it is: it might run twice, and does not say that this does no harm; \
         send an Idempotency-Key, or annotate the tool as idempotent"
    );
    Err(ToolError::new(ErrorKind::InvalidParameters, text))
}

/// Returns the output of a call that was queued, as its record has it.
pub(crate) fn accepted(id: CallId) -> ToolOutput {
    ToolOutput::Value(json!({"queued": id.to_string()}))
}

/// Returns the error of a call that cannot be queued because there is no queue.
pub fn no_queue(tool: &str) -> ToolError {
    let text = format!(
        "Tool '{tool}' cannot be queued: there is no cluster to queue it in; call it and wait for its answer"
    );
    ToolError::new(ErrorKind::InvalidParameters, text)
        .with_hint("`[cluster] nats = \"nats://…\"` in the config names one.")
}

/// Returns whether running the tool twice has the effect of running it once.
pub fn may_repeat(tool: &ToolSpec) -> bool {
    tool.is_read_only() || tool.annotations.idempotent == Some(true)
}

impl ToolExecutor {
    /// Normalises the outcome of a call that was queued here and ran elsewhere, with the same limits as any other
    /// result. It is recorded where it ran, and here when it was queued.
    pub async fn shape(&self, ran: RemoteOutcome) -> ToolResult {
        let RemoteOutcome { id, tool, server, caller, elapsed, outcome } = ran;
        let spec = self.tools().lookup(&tool).ok();
        let own = spec.and_then(|tool| tool.spec().settings.max_output);
        let most = self.config().max_output.0;
        let limit = own.unwrap_or(usize::try_from(most).unwrap_or(usize::MAX));
        let source = ArtifactSource { tool: tool.clone(), caller };
        let about = normalise::ResultInfo {
            call_id: id,
            tool_call_id: String::new(),
            tool_name: tool,
            server,
            elapsed,
            waited: Duration::ZERO,
            reused: None,
            source,
        };
        normalise::bound(about, outcome, limit, &**self.artifacts()).await
    }
}

/// The outcome of a call that ran elsewhere.
#[derive(Debug)]
pub struct RemoteOutcome {
    /// The id under which it was queued.
    pub id: CallId,
    /// The tool's full name.
    pub tool: Arc<str>,
    /// The server or group of workers that the tool belongs to.
    pub server: Option<Arc<str>>,
    /// Who made the call.
    pub caller: Option<Arc<str>>,
    /// How long it took.
    pub elapsed: Duration,
    /// The whole output, or the error.
    pub outcome: Result<ToolOutput, ToolError>,
}

/// A call in the queue, or its outcome.
#[derive(Debug)]
pub struct QueuedCall {
    /// Its id: the same as in the gateway's record.
    pub id: CallId,
    /// The tool's full name.
    pub tool: Arc<str>,
    /// Who made the call.
    pub caller: Option<Arc<str>>,
    /// Its state.
    pub state: QueueState,
    /// How many attempts were started.
    pub attempts: u32,
    /// When it was queued.
    pub queued: SystemTime,
    /// When this last changed.
    pub changed: SystemTime,
    /// The latest progress that the tool reported.
    pub progress: Option<ProgressUpdate>,
    /// The result, once the call has ended.
    pub result: Option<ToolResult>,
}

/// The state of a queued call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// No attempt runs: it waits for its first or next one.
    Queued,
    /// A worker runs it.
    Running,
    /// It has ended with a result, which may be an error.
    Done,
    /// Every attempt failed: it is in the dead letter queue.
    Dead,
    /// It was cancelled on request.
    Cancelled,
}

impl QueueState {
    /// Returns the stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the state is final.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Dead | Self::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_taken_that_may_run_twice_or_where_a_key_sees_to_it() {
        let taken = |change: fn(&mut ToolSpec)| {
            let mut spec = ToolSpec::new("act", "", json!({}));
            change(&mut spec);
            [false, true].map(|has_key| takes(&spec, has_key).is_ok())
        };
        assert_eq!(taken(|_| {}), [false, false]);
        assert_eq!(taken(|spec| spec.settings.durable = true), [false, true]);
        assert_eq!(
            taken(|spec| {
                spec.settings.durable = true;
                spec.annotations.idempotent = Some(true);
            }),
            [true, true]
        );
        assert_eq!(
            taken(|spec| {
                spec.settings.durable = true;
                spec.annotations.read_only = Some(true);
            }),
            [true, true]
        );
        assert_eq!(taken(|spec| spec.annotations.read_only = Some(true)), [false, false]);
    }
}
