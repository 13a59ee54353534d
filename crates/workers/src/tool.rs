//! A tool that a worker runs.
//!
//! Errors say only what is certain. A call that was refused, or that no worker received, did not run, and another
//! worker may get it. A call that must not run twice starts only after its worker has accepted it and was told to:
//! before that it certainly did not run, after that it is never sent again.

mod attempt;
mod queued;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};
use switchboard_runtime::durable;
use switchboard_toolcall::{
    BoxFuture, CallContext, CallId, ErrorKind, Tool, ToolError, ToolOutput, ToolSpec,
};
use tokio::time::sleep;

use crate::{
    Bucket,
    groups::Group,
    sign::WINDOW,
    wire::{self, WorkerRefusal, WorkerRequest},
};
use attempt::{AttemptEnding, LostReason};

/// The pauses before busy workers are tried again.
const PAUSES_MS: [u64; 6] = [20, 50, 100, 200, 400, 800];

/// How often a call is sent that no worker accepts.
const UNTAKEN: usize = 4;

/// How many workers are tried one by one after one has refused.
const ASKED: usize = 8;

/// A tool of a group of workers.
pub struct WorkerTool {
    spec: ToolSpec,
    /// Its name at the workers.
    tool: String,
    group: Arc<Group>,
    /// Whether its calls are queued if they have a key.
    is_queued: bool,
}

impl Tool for WorkerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = match args {
                Value::Object(args) => args,
                // The executor passes objects only.
                _ => Map::new(),
            };
            match self.queue_key(cx) {
                Some(key) => self.run_queued(args, key, cx).await,
                None => self.run(args, cx).await,
            }
        })
    }

    fn enqueue<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        Box::pin(self.group.jobs().enqueue(&self.spec, args, cx))
    }
}

impl WorkerTool {
    pub(crate) fn new(mut spec: ToolSpec, tool: &str, group: Arc<Group>) -> Self {
        let is_queued = group.jobs().queues(&spec.name);
        if is_queued {
            // Who calls again with the same key waits for the first call.
            spec.settings.honours_keys = true;
            spec.settings.keys_kept = Bucket::Keys.max_age();
        }
        Self { spec, tool: tool.to_owned(), group, is_queued }
    }

    async fn run(
        &self,
        args: Map<String, Value>,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let cluster = self.group.cluster();
        if !cluster.is_connected() {
            let nats = format!("NATS at {}", cluster.address());
            return Err(ToolError::unreachable(&self.spec.name, nats));
        }
        let call = cx.call_id.unwrap_or_else(CallId::generate);
        let mut request = WorkerRequest::new(call, &self.tool, args, cx);
        let _laid_down = self.lay_down(&mut request).await?;
        let mut may_repeat = durable::may_repeat(&self.spec);
        request.waits = !may_repeat;
        let mut untaken = 0;
        loop {
            match self.ask(&request, cx).await? {
                AttemptEnding::Answered(outcome) => return outcome,
                AttemptEnding::Refused(refusal) => return Err(self.refused(refusal)),
                AttemptEnding::Nobody => return Err(self.nobody()),
                AttemptEnding::Lost(lost) if may_repeat => {
                    let (name, group) = (&self.spec.name, self.group.name());
                    tracing::warn!("'{name}' is asked of another worker of '{group}': {lost}");
                    may_repeat = false;
                    // The worker that had it is told to stop, and must not confuse it with this attempt.
                    request.call = CallId::generate();
                }
                AttemptEnding::Lost(lost) => return Err(self.lost(&lost)),
                AttemptEnding::Untaken => {
                    untaken += 1;
                    if untaken == UNTAKEN {
                        return Err(self.nobody());
                    }
                    // A worker that may still have it is told to drop it.
                    request.call = CallId::generate();
                }
            }
            request.time_left(cx);
        }
    }

    /// Sends the call to the group, and to further workers if one refuses; if all are busy, again after a pause.
    async fn ask(
        &self,
        request: &WorkerRequest,
        cx: &CallContext,
    ) -> Result<AttemptEnding, ToolError> {
        let unwritable =
            |error: crate::Error| ToolError::new(ErrorKind::Internal, error.to_string());
        let names = self.group.cluster().names();
        let mut pauses = PAUSES_MS.into_iter().map(Duration::from_millis);
        loop {
            let payload = wire::write(request).map_err(unwritable)?;
            let subject = names.calls(self.group.name(), &self.tool);
            let mut ending = self.attempt(subject, request, payload.clone(), cx).await;
            let AttemptEnding::Refused(mut refusal) = ending else { return Ok(ending) };
            for worker in self.group.workers_with(&self.tool, ASKED) {
                let subject = names.calls_to(&worker);
                ending = self.attempt(subject, request, payload.clone(), cx).await;
                match ending {
                    AttemptEnding::Nobody => {}
                    AttemptEnding::Refused(WorkerRefusal::Busy) => refusal = WorkerRefusal::Busy,
                    AttemptEnding::Refused(_) => {}
                    AttemptEnding::Answered(_)
                    | AttemptEnding::Lost(_)
                    | AttemptEnding::Untaken => return Ok(ending),
                }
            }
            match pauses.next() {
                // Waiting would not change that.
                _ if matches!(refusal, WorkerRefusal::Unsigned | WorkerRefusal::Stale) => {
                    return Ok(AttemptEnding::Refused(refusal));
                }
                Some(pause) => sleep(pause).await,
                None => return Ok(AttemptEnding::Refused(refusal)),
            }
        }
    }

    /// Stores arguments that are too large for a message; they are deleted when the call ends.
    async fn lay_down(
        &self,
        request: &mut WorkerRequest,
    ) -> Result<Option<LargeArguments>, ToolError> {
        let unreachable = |error: crate::Error| {
            let nats = format!("NATS at {}", self.group.cluster().address());
            ToolError::unreachable(&self.spec.name, nats).caused_by(error)
        };
        let bytes: Bytes = wire::write(&request.args).map_err(unreachable)?;
        if !self.group.cluster().is_large(bytes.len()) {
            return Ok(None);
        }
        let place = self.group.cluster().lay_down(&bytes).await.map_err(unreachable)?;
        request.args = Map::new();
        request.large_args = Some(place.clone());
        Ok(Some(LargeArguments { group: self.group.clone(), place }))
    }

    fn nobody(&self) -> ToolError {
        let worker = format!("a worker of group '{}'", self.group.name());
        ToolError::unreachable(&self.spec.name, worker)
    }

    fn refused(&self, refusal: WorkerRefusal) -> ToolError {
        let (name, group) = (&self.spec.name, self.group.name());
        match refusal {
            WorkerRefusal::Busy => {
                let text = format!(
                    "Tool '{name}' was not run: all workers of group '{group}' are busy; try again later"
                );
                ToolError::new(ErrorKind::Overloaded, text)
            }
            WorkerRefusal::Unsigned => {
                let text = format!(
                    "Tool '{name}' was not run by a worker of group '{group}': the request is not signed with this cluster's key"
                );
                ToolError::new(ErrorKind::Unavailable, text)
                    .with_hint("Every gateway and worker needs the same `[cluster] key`.")
            }
            WorkerRefusal::Stale => {
                let text = format!(
                    "Tool '{name}' was not run by a worker of group '{group}': the request was signed more than {} s before or after the worker's time",
                    WINDOW.as_secs()
                );
                ToolError::new(ErrorKind::Unavailable, text)
                    .with_hint("Keep the clocks of gateways and workers in step (NTP).")
            }
            WorkerRefusal::Leaving | WorkerRefusal::Unknown | WorkerRefusal::Untold => {
                self.nobody()
            }
        }
    }

    /// Returns the error of a call without a final reply.
    fn lost(&self, lost: &LostReason) -> ToolError {
        let name = &self.spec.name;
        if self.spec.is_read_only() {
            let text = format!("Tool '{name}' is unavailable: {lost}");
            return ToolError::new(ErrorKind::Unavailable, text);
        }
        let text = format!("Tool '{name}' may have run: {lost}");
        ToolError::new(ErrorKind::OutcomeUnknown, text)
    }
}

/// Arguments in the object store, deleted when dropped.
struct LargeArguments {
    group: Arc<Group>,
    place: String,
}

impl Drop for LargeArguments {
    fn drop(&mut self) {
        let (cluster, place) = (self.group.cluster().clone(), std::mem::take(&mut self.place));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { cluster.take_away(&place).await });
        }
    }
}
