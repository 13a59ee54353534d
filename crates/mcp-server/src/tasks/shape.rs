//! The JSON of a task.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use switchboard_runtime::{QueueState, QueuedCall};
use switchboard_toolcall::ProgressUpdate;

use super::Tasks;
use crate::{ServerInner, exchange::Exchange, methods, reply::MethodReply};
use switchboard_mcp_wire::RpcError;

impl Tasks {
    /// Returns the fields that every message about a task has.
    pub(crate) fn outline(&self, call: &QueuedCall) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| _ = fields.insert(key.to_owned(), value);
        put("taskId", call.id.to_string().into());
        put("status", status(call.state).into());
        if let Some(text) = message(call) {
            put("statusMessage", text.into());
        }
        put("createdAt", time(call.queued).into());
        put("lastUpdatedAt", time(call.changed).into());
        put("ttlMs", self.queue.retention().map_or(Value::Null, millis));
        put("pollIntervalMs", millis(self.poll));
        fields
    }
}

impl ServerInner {
    /// Returns everything known of a task, including its result.
    pub(crate) fn detail(
        &self,
        tasks: &Tasks,
        mut call: QueuedCall,
        exchange: &Exchange,
    ) -> Result<Map<String, Value>, RpcError> {
        let result = call.result.take();
        let mut fields = tasks.outline(&call);
        if !matches!(call.state, QueueState::Done | QueueState::Dead) {
            return Ok(fields);
        }
        let error = match result {
            Some(result) => match methods::protocol_error(&result) {
                Some(error) => error,
                None => {
                    let dressed = self.render(&MethodReply::Tool(Box::new(result)), exchange);
                    let dressed = serde_json::from_str(&dressed.0);
                    fields.insert("result".to_owned(), dressed.unwrap_or_default());
                    return Ok(fields);
                }
            },
            None => RpcError::new(RpcError::INTERNAL, "its result was lost"),
        };
        // Only a protocol error counts as failed; a tool's own error is its result.
        fields.insert("status".to_owned(), "failed".into());
        fields.insert("statusMessage".to_owned(), error.message.as_str().into());
        fields.insert("error".to_owned(), json!(error));
        Ok(fields)
    }
}

fn status(state: QueueState) -> &'static str {
    match state {
        QueueState::Queued | QueueState::Running => "working",
        QueueState::Done | QueueState::Dead => "completed",
        QueueState::Cancelled => "cancelled",
    }
}

/// Returns the status message.
fn message(call: &QueuedCall) -> Option<String> {
    match call.state {
        QueueState::Queued if call.attempts == 0 => Some("waits for a free worker".to_owned()),
        QueueState::Queued => Some(format!("waits for attempt {}", call.attempts + 1)),
        QueueState::Running => call.progress.as_ref().map(progress),
        QueueState::Dead => Some(format!("failed in all of {} attempts", call.attempts)),
        QueueState::Done | QueueState::Cancelled => None,
    }
}

fn progress(update: &ProgressUpdate) -> String {
    let done = match update.total {
        Some(total) => format!("{} of {total}", update.progress),
        None => update.progress.to_string(),
    };
    match &update.message {
        Some(message) => format!("{done}: {message}"),
        None => done,
    }
}

fn time(time: SystemTime) -> String {
    // An invalid clock must not prevent a response.
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

fn millis(duration: Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1).into()
}
