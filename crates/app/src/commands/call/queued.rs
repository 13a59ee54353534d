//! `switchboard call --no-wait`: queues the call.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState, durable};
use switchboard_toolcall::{CallContext, CallId, ToolCall, ToolError};

use super::{CallCommand, CallReport};

/// A call that is in the queue.
pub(super) struct SubmittedCall {
    pub(super) id: CallId,
    /// The state's code, as in REST.
    pub(super) state: String,
    pub(super) name: String,
}

impl SubmittedCall {
    /// Returns the id, or with `json` the object that REST responds with.
    pub(super) fn text(&self, json: bool) -> String {
        let Self { id, state, name } = self;
        match json {
            true => {
                json!({"call_id": id.to_string(), "state": state, "tool_name": name}).to_string()
            }
            false => id.to_string(),
        }
    }
}

impl CallCommand<'_> {
    /// Queues the call, or says why it cannot be queued.
    pub(super) async fn queue(&self, call: ToolCall, cx: &CallContext) -> CallReport {
        let executor = &self.app.executor;
        let Some(queue) = self.connections.queue(executor) else {
            let error = self.unqueued(&call.name, cx);
            return CallReport::Ended(Box::new(executor.refuse(call, error, cx).await));
        };
        let name = call.name.clone();
        // Ids sort by the time they were generated, so an earlier call has a smaller one.
        let before = CallId::generate();
        match executor.submit(call, cx).await {
            Ok(id) => {
                let state = match id < before {
                    // With an idempotency key this may be an earlier call, which may have ended.
                    true => queue.look(id).await.ok().flatten().map(|call| call.state),
                    false => None,
                };
                let state = state.unwrap_or(QueueState::Queued).code().to_owned();
                CallReport::Queued(SubmittedCall { id, state, name })
            }
            Err(result) => CallReport::Ended(result),
        }
    }

    /// Says why a call cannot be queued without a queue: its tool is local, or there is no cluster.
    fn unqueued(&self, name: &str, cx: &CallContext) -> ToolError {
        let tools = self.app.executor.tools();
        match tools.get_for(name, self.seen).ok_or_else(|| tools.hidden(name, self.seen)) {
            Err(error) => error,
            Ok(_) if !self.has_cluster => durable::no_queue(name),
            Ok(tool) => match durable::takes(tool.spec(), cx.idempotency_key.is_some()) {
                Err(error) => error,
                Ok(()) => durable::no_queue(name),
            },
        }
    }
}
