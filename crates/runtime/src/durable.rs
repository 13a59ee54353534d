//! Calls that outlive who asked for them: laid into a queue, run by whoever is free, asked after by their id.
//!
//! The queue is somebody else's business; this is the seam between it and the entrances. A call is queued by
//! [`ToolExecutor::submit`](crate::ToolExecutor::submit): found, checked, allowed and recorded like any other, then handed
//! to [`Tool::enqueue`](switchboard_toolcall::Tool::enqueue).

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

use crate::{artifacts::Source, call::ToolExecutor, normalise};

/// A queue of calls that survives those who ask and those who run, as entrances look at it.
pub trait DurableCalls: Send + Sync {
    /// How a queued call is; none where no such call is known.
    ///
    /// # Errors
    /// The queue cannot be asked.
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>>;

    /// Asks that a queued call be given up; whether it was still to end.
    ///
    /// # Errors
    /// The queue cannot be asked.
    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>>;

    /// How a queued call is, as soon as it has changed since then or is over; none where no such call is known. A queue
    /// that hears of changes says so at once; this one looks again and again.
    ///
    /// # Errors
    /// The queue cannot be asked.
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

    /// How long a call can be asked after, counted from when it was queued; none where it is not forgotten.
    fn kept(&self) -> Option<Duration> {
        None
    }
}

/// How long is waited at first before a queue is looked at again, and how long at last.
const SHORTEST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The rule that queues go by: what may run twice, or carries an idempotency key.
///
/// # Errors
/// The reason why not, and what to do.
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

/// The result of a call that was queued, as its record has it.
pub(crate) fn accepted(id: CallId) -> ToolOutput {
    ToolOutput::Value(json!({"queued": id.to_string()}))
}

/// The end of a call that cannot be queued because there is no queue.
pub fn no_queue(tool: &str) -> ToolError {
    let text = format!(
        "Tool '{tool}' cannot be queued: there is no cluster to queue it in; call it and wait for its answer"
    );
    ToolError::new(ErrorKind::InvalidParameters, text)
        .with_hint("`[cluster] nats = \"nats://…\"` in the config names one.")
}

/// Whether running the tool twice is as running it once.
pub fn may_repeat(tool: &ToolSpec) -> bool {
    tool.is_read_only() || tool.annotations.idempotent == Some(true)
}

impl ToolExecutor {
    /// Shapes what came of a call that was queued here and ran elsewhere: bounded as any other result. It is written
    /// down where it ran, and here when it was queued.
    pub async fn shape(&self, ran: RanElsewhere) -> ToolResult {
        let RanElsewhere { id, tool, server, caller, elapsed, outcome } = ran;
        let spec = self.tools().lookup(&tool).ok();
        let own = spec.and_then(|tool| tool.spec().settings.max_output);
        let most = self.config().max_output.0;
        let limit = own.unwrap_or(usize::try_from(most).unwrap_or(usize::MAX));
        let source = Source { tool: tool.clone(), caller };
        let about = normalise::About {
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

/// What came of a call that ran elsewhere.
#[derive(Debug)]
pub struct RanElsewhere {
    /// The id under which it was queued.
    pub id: CallId,
    /// The tool's full name.
    pub tool: Arc<str>,
    /// The server, or group of workers, that the tool belongs to.
    pub server: Option<Arc<str>>,
    /// Who asked for it.
    pub caller: Option<Arc<str>>,
    /// How long it took.
    pub elapsed: Duration,
    /// The answer, whole, or what went wrong.
    pub outcome: Result<ToolOutput, ToolError>,
}

/// A call in the queue, or what became of it.
#[derive(Debug)]
pub struct QueuedCall {
    /// Its id: that of the gateway's record.
    pub id: CallId,
    /// The tool's full name.
    pub tool: Arc<str>,
    /// Who asked for it.
    pub caller: Option<Arc<str>>,
    /// How it is.
    pub state: QueueState,
    /// How often it was begun.
    pub attempts: u32,
    /// When it was queued.
    pub queued: SystemTime,
    /// When something of this changed last.
    pub changed: SystemTime,
    /// How far it is, where the tool said so.
    pub progress: Option<ProgressUpdate>,
    /// What came of it, once it has ended.
    pub result: Option<ToolResult>,
}

/// How a queued call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// Nobody has begun it, or it waits for its next attempt.
    Queued,
    /// A worker is at it.
    Running,
    /// It has ended, well or not: the result says.
    Done,
    /// Every attempt failed, so it lies with the dead letters.
    Dead,
    /// It was given up because somebody asked for that.
    Cancelled,
}

impl QueueState {
    /// The stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing will change any more.
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
