//! Calls that outlive their requests, by MCP's tasks extension: a tool call returns a task, and the client polls it.
//!
//! The embedder provides the queue ([`DurableCalls`]); this module is only its view for clients. Queued calls never ask
//! their clients questions.

mod follower;
mod shape;

use std::{sync::Arc, time::Duration};

use serde_json::json;
use switchboard_mcp_wire::RpcError;
use switchboard_runtime::{DurableCalls, QueuedCall, RegisteredTool, ToolExecutor, durable};
use switchboard_toolcall::{BoxError, CallContext, CallId, ToolCall, ToolResult, ToolSpec};
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use super::{Config, McpCaller};

pub(crate) use follower::TaskFollower;

/// The extension's name.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How many times a call that was just queued is looked up, and the pause in between.
const LOOKS: u32 = 40;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The queue as clients see it.
#[derive(Clone)]
pub(crate) struct Tasks {
    queue: Arc<dyn DurableCalls>,
    executor: ToolExecutor,
    after: Duration,
    poll: Duration,
}

/// The result of submitting a call to the queue.
pub(crate) enum SubmitOutcome {
    /// The call has ended already, or was not queued.
    Ended(Box<ToolResult>),
    /// The call goes on.
    Task(Box<QueuedCall>),
}

impl Tasks {
    /// Creates the tasks of a queue.
    pub(crate) fn new(
        queue: Arc<dyn DurableCalls>,
        executor: ToolExecutor,
        config: &Config,
    ) -> Self {
        Self { queue, executor, after: config.task_after.0, poll: config.task_poll.0 }
    }

    /// Whether calls of the tool can be queued.
    pub(crate) fn takes(&self, tool: &RegisteredTool, cx: &CallContext) -> bool {
        durable::takes(tool.spec(), cx.idempotency_key.is_some()).is_ok()
    }

    /// Queues a call. If it ends soon, its result is returned like that of any other call.
    ///
    /// # Errors
    /// Fails if the call was queued, but then could not be found in the queue.
    pub(crate) async fn submit(
        &self,
        call: ToolCall,
        cx: &CallContext,
    ) -> Result<SubmitOutcome, RpcError> {
        let id = match self.executor.submit(call, cx).await {
            Ok(id) => id,
            Err(result) => return Ok(SubmitOutcome::Ended(result)),
        };
        // With an idempotency key the call may be an earlier one that other clients follow.
        let alone = cx.idempotency_key.is_none();
        let unclaimed = CancelUnlessClaimed(alone.then(|| (self.queue.clone(), id)));
        let found = self.settle(id).await;
        unclaimed.claim();
        let mut call = found?;
        match call.result.take() {
            Some(result) => Ok(SubmitOutcome::Ended(Box::new(result))),
            None => Ok(SubmitOutcome::Task(Box::new(call))),
        }
    }

    /// Returns the call as soon as it has ended, or unfinished once `after` has passed.
    async fn settle(&self, id: CallId) -> Result<QueuedCall, RpcError> {
        let mut found = self.find_new(id).await?;
        let ended = async {
            while !found.state.is_over() {
                match self.queue.changed(id, found.changed).await {
                    Ok(Some(call)) => found = call,
                    Ok(None) => return,
                    Err(error) => return tracing::debug!(%id, error, "a task is not followed"),
                }
            }
        };
        // A call that has not ended by then becomes a task; so does one that the queue no longer reports on.
        _ = timeout(self.after, ended).await;
        Ok(found)
    }

    /// Returns the call that was just queued. A queue of several machines may take a moment until all of them know of it, and
    /// a client must not get a task before it can poll it.
    async fn find_new(&self, id: CallId) -> Result<QueuedCall, RpcError> {
        for _ in 0..LOOKS {
            match self.queue.look(id).await {
                Ok(Some(call)) => return Ok(call),
                Ok(None) => {}
                Err(error) => tracing::debug!(%id, error, "a new task is not found yet"),
            }
            sleep(BETWEEN_LOOKS).await;
        }
        let text = format!("the call {id} was queued, but the queue does not find it");
        Err(RpcError::new(RpcError::INTERNAL, text))
    }

    /// Returns the caller's own task with this id.
    ///
    /// # Errors
    /// Fails if there is no task with this id, or the queue cannot be reached.
    pub(crate) async fn find(&self, id: &str, caller: &McpCaller) -> Result<QueuedCall, RpcError> {
        let found = match CallId::parse(id) {
            Some(id) => self.queue.look(id).await.map_err(|error| unreachable(&error))?,
            None => None,
        };
        // Other callers must not learn that the task exists.
        let knows = |call: &QueuedCall| {
            let (tools, own) = (self.executor.tools(), caller.name.as_deref());
            tools.knows_call(own, &caller.visibility, &call.tool, call.caller.as_deref())
        };
        found.filter(|call| call.caller == caller.name && knows(call)).ok_or_else(|| {
            RpcError::new(RpcError::INVALID_PARAMS, "there is no such task, or no longer")
        })
    }

    /// Requests the cancellation of a call.
    ///
    /// # Errors
    /// The queue cannot be reached.
    pub(crate) async fn cancel(&self, call: &QueuedCall) -> Result<(), RpcError> {
        if !call.state.is_over() {
            self.queue.cancel(call.id).await.map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }
}

fn unreachable(error: &BoxError) -> RpcError {
    RpcError::new(RpcError::INTERNAL, format!("the queue cannot be asked: {error}"))
}

/// Whether the tool requires that its calls are tasks.
pub(crate) fn is_required(spec: &ToolSpec) -> bool {
    let execution = spec.extra.get("execution");
    execution.is_some_and(|execution| execution["taskSupport"] == "required")
}

/// Makes the error for a client that does not declare the required extension.
pub(crate) fn not_known() -> RpcError {
    let text = format!("this needs a client that declares the extension `{EXTENSION}`");
    let data = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    RpcError::new(RpcError::MISSING_CAPABILITY, text).with_data(data)
}

/// Cancels a queued call if dropped before the client knows of it: the client has then hung up.
struct CancelUnlessClaimed(Option<(Arc<dyn DurableCalls>, CallId)>);

impl CancelUnlessClaimed {
    fn claim(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelUnlessClaimed {
    fn drop(&mut self) {
        if let (Some((queue, id)), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(error) = queue.cancel(id).await {
                    tracing::debug!(%id, error, "an abandoned call cannot be cancelled");
                }
            });
        }
    }
}
