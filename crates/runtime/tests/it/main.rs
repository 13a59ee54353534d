//! The executor as its callers see it.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod approvals;
mod concurrency;
mod endings;
mod fixed;
mod hostile;
mod logs;
mod names;
mod skipped;
mod policy;
mod profiles;
mod questions;
mod redaction;
mod renames;
mod results;
mod reuse;
mod services;
mod texts;

use serde_json::{Map, Value};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{ErrorKind, Tool, ToolResult},
};

/// An executor with these tools.
fn executor(tools: impl IntoIterator<Item = impl Tool + 'static>) -> ToolExecutor {
    let executor = ToolExecutor::default();
    for tool in tools {
        executor.tools().add(tool).unwrap();
    }
    executor
}

/// The outcomes of all records, oldest first: `None` for success.
async fn recorded(executor: &ToolExecutor) -> Vec<Option<ErrorKind>> {
    let calls = executor.history().recent(usize::MAX).await.unwrap();
    calls.iter().rev().map(|call| call.end.expect("every record is closed").0).collect()
}

/// The envelope as a client sees it.
fn envelope(result: &ToolResult) -> Value {
    serde_json::to_value(result).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}
