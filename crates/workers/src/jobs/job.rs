//! A queued call.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_runtime::durable;
use switchboard_toolcall::{CallContext, CallId, ToolCall, ToolOrigin, ToolSpec};

use crate::wire::WorkerRequest;

/// A queued call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The tool's full name at the gateway.
    pub name: String,
    /// The group whose workers run it.
    pub group: String,
    /// Whether running it twice has the effect of running it once.
    pub may_repeat: bool,
    /// What a worker runs.
    pub request: WorkerRequest,
}

impl Job {
    /// Creates the job of a call of a worker's tool. Returns `None` if it is not a worker's tool.
    pub(crate) fn new(
        call: CallId,
        spec: &ToolSpec,
        args: Map<String, Value>,
        cx: &CallContext,
    ) -> Option<Self> {
        let ToolOrigin::Server { server, tool } = &spec.origin else { return None };
        let mut request = WorkerRequest::new(call, tool, args, cx);
        // An attempt gets the caller's timeout, or else the worker's own.
        let millis = cx.timeout.map(|timeout| timeout.as_millis());
        request.time_left_ms =
            millis.and_then(|millis| u64::try_from(millis).ok()).unwrap_or(u64::MAX);
        Some(Self {
            name: spec.name.clone(),
            group: server.to_string(),
            may_repeat: durable::may_repeat(spec),
            request,
        })
    }

    /// The id under which it was queued.
    pub fn id(&self) -> CallId {
        self.request.call
    }

    /// Returns the call at the worker.
    pub(crate) fn call(&self) -> ToolCall {
        ToolCall::new(&self.request.tool, self.request.args.clone()).with_id(self.id().to_string())
    }

    /// Returns the context of an attempt, without the idempotency key: the worker's executor would reuse the first
    /// attempt's outcome for the second.
    pub(crate) fn context(&self) -> CallContext {
        let mut cx = self.request.context();
        cx.idempotency_key = None;
        cx.timeout = cx.timeout.filter(|timeout| *timeout != Duration::from_millis(u64::MAX));
        cx
    }
}
