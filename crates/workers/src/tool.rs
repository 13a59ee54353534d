//! A tool that a worker runs: it looks like any other.
//!
//! What is certain decides what is said. A call that was refused, or that nobody was there to take, did not run, and another
//! worker may be asked. A call that may do harm when it runs twice begins only when its worker has said that it has it and was
//! told to: before that it is certain not to have run, after that it is never asked for again.

mod attempt;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};
use switchboard_runtime::durable;
use switchboard_toolcall::{
    BoxFuture, CallContext, CallId, ErrorKind, Tool, ToolError, ToolOutput, ToolSpec,
};
use tokio::time::sleep;

use crate::{
    groups::Group,
    sign::WINDOW,
    wire::{self, Refusal, Request},
};
use attempt::{Ending, Lost};

/// How long to wait, each time that all workers are busy, before they are asked again.
const PAUSES_MS: [u64; 6] = [20, 50, 100, 200, 400, 800];

/// How often a call is asked for that nobody has said to have.
const UNTAKEN: usize = 4;

/// How many workers are asked one by one after one has refused.
const ASKED: usize = 8;

/// A tool of a group of workers.
pub struct WorkerTool {
    spec: ToolSpec,
    /// Its name at the workers.
    tool: String,
    group: Arc<Group>,
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
            self.run(args, cx).await
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
    pub(crate) fn new(spec: ToolSpec, tool: &str, group: Arc<Group>) -> Self {
        Self { spec, tool: tool.to_owned(), group }
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
        let mut request = Request::new(call, &self.tool, args, cx);
        let _laid_down = self.lay_down(&mut request).await?;
        let mut may_repeat = durable::may_repeat(&self.spec);
        request.waits = !may_repeat;
        let mut untaken = 0;
        loop {
            match self.ask(&request, cx).await? {
                Ending::Answered(outcome) => return outcome,
                Ending::Refused(refusal) => return Err(self.refused(refusal)),
                Ending::Nobody => return Err(self.nobody()),
                Ending::Lost(lost) if may_repeat => {
                    let (name, group) = (&self.spec.name, self.group.name());
                    tracing::warn!("'{name}' is asked of another worker of '{group}': {lost}");
                    may_repeat = false;
                    // Whoever had it is told to stop, and must not take this one for that.
                    request.call = CallId::generate();
                }
                Ending::Lost(lost) => return Err(self.lost(&lost)),
                Ending::Untaken => {
                    untaken += 1;
                    if untaken == UNTAKEN {
                        return Err(self.nobody());
                    }
                    // Whoever may have it still is told to forget it.
                    request.call = CallId::generate();
                }
            }
            request.time_left(cx);
        }
    }

    /// Asks the group, and where a worker refuses, others of it; when all are busy, again after a while.
    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Ending, ToolError> {
        let unwritable =
            |error: crate::Error| ToolError::new(ErrorKind::Internal, error.to_string());
        let names = self.group.cluster().names();
        let mut pauses = PAUSES_MS.into_iter().map(Duration::from_millis);
        loop {
            let payload = wire::write(request).map_err(unwritable)?;
            let subject = names.calls(self.group.name(), &self.tool);
            let mut ending = self.attempt(subject, request, payload.clone(), cx).await;
            let Ending::Refused(mut refusal) = ending else { return Ok(ending) };
            for worker in self.group.workers_with(&self.tool, ASKED) {
                let subject = names.calls_to(&worker);
                ending = self.attempt(subject, request, payload.clone(), cx).await;
                match ending {
                    Ending::Nobody => {}
                    Ending::Refused(Refusal::Busy) => refusal = Refusal::Busy,
                    Ending::Refused(_) => {}
                    Ending::Answered(_) | Ending::Lost(_) | Ending::Untaken => return Ok(ending),
                }
            }
            match pauses.next() {
                // No pause would change that.
                _ if matches!(refusal, Refusal::Unsigned | Refusal::Stale) => {
                    return Ok(Ending::Refused(refusal));
                }
                Some(pause) => sleep(pause).await,
                None => return Ok(Ending::Refused(refusal)),
            }
        }
    }

    /// Lays down arguments that are too large for a message; they are taken away when the call is over.
    async fn lay_down(&self, request: &mut Request) -> Result<Option<LargeArguments>, ToolError> {
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

    fn refused(&self, refusal: Refusal) -> ToolError {
        let (name, group) = (&self.spec.name, self.group.name());
        match refusal {
            Refusal::Busy => {
                let text = format!(
                    "Tool '{name}' was not run: all workers of group '{group}' are busy; try again later"
                );
                ToolError::new(ErrorKind::Overloaded, text)
            }
            Refusal::Unsigned => {
                let text = format!(
                    "Tool '{name}' was not run by a worker of group '{group}': the request is not signed with this cluster's key"
                );
                ToolError::new(ErrorKind::Unavailable, text)
                    .with_hint("Every gateway and worker needs the same `[cluster] key`.")
            }
            Refusal::Stale => {
                let text = format!(
                    "Tool '{name}' was not run by a worker of group '{group}': the request was signed more than {} s before or after the worker's time",
                    WINDOW.as_secs()
                );
                ToolError::new(ErrorKind::Unavailable, text)
                    .with_hint("Keep the clocks of gateways and workers in step (NTP).")
            }
            Refusal::Leaving | Refusal::Unknown | Refusal::Untold => self.nobody(),
        }
    }

    /// What is true of a call that nobody answered for.
    fn lost(&self, lost: &Lost) -> ToolError {
        let name = &self.spec.name;
        if self.spec.is_read_only() {
            let text = format!("Tool '{name}' is unavailable: {lost}");
            return ToolError::new(ErrorKind::Unavailable, text);
        }
        let text = format!("Tool '{name}' may have run: {lost}");
        ToolError::new(ErrorKind::OutcomeUnknown, text)
    }
}

/// Arguments in the object store, taken away when dropped.
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
