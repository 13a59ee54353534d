//! A call as it lies in the queue.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_runtime::durable;
use switchboard_toolcall::{CallContext, CallId, Origin, ToolCall, ToolSpec};

use crate::wire::Request;

/// A call as it lies in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The tool's full name, where the call was made.
    pub name: String,
    /// The group whose workers run it.
    pub group: String,
    /// Whether running it twice is as running it once.
    pub may_repeat: bool,
    /// What a worker is asked to run.
    pub request: Request,
}

impl Job {
    /// What is queued where a worker's tool was called so; none where it is no worker's.
    pub(crate) fn new(
        call: CallId,
        spec: &ToolSpec,
        args: Map<String, Value>,
        cx: &CallContext,
    ) -> Option<Self> {
        let Origin::Server { server, tool } = &spec.origin else { return None };
        let mut request = Request::new(call, tool, args, cx);
        // An attempt gets the time that the caller gave the call; else the worker says how much.
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

    /// The call at the worker.
    pub(crate) fn call(&self) -> ToolCall {
        ToolCall::new(&self.request.tool, self.request.args.clone()).with_id(self.id().to_string())
    }

    /// What surrounds an attempt. The queue itself sees to the key: the worker's own executor would answer a second
    /// attempt with what came of the first.
    pub(crate) fn context(&self) -> CallContext {
        let mut cx = self.request.context();
        cx.idempotency_key = None;
        cx.timeout = cx.timeout.filter(|timeout| *timeout != Duration::from_millis(u64::MAX));
        cx
    }
}
