//! `call_history`: lists the latest calls.

use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Tool, ToolError, tool_fn};

use crate::{
    record::{CallHistory, RecordedCall, store_unreachable},
    tools::ToolManager,
};

/// Lists the latest tool calls that the caller may know of, newest first: what was called, with which arguments, and how it ended.
#[derive(Deserialize, JsonSchema)]
struct CallHistoryRequest {
    /// How many calls to return.
    #[serde(default = "default_limit")]
    limit: usize,
    /// Only calls of this tool.
    #[serde(default)]
    tool: Option<String>,
}

fn default_limit() -> usize {
    20
}

/// How many records are searched.
const LOOKED_THROUGH: usize = 10_000;

pub(super) fn tool(history: Arc<dyn CallHistory>, tools: Weak<ToolManager>) -> impl Tool {
    let list = move |request: CallHistoryRequest, cx: CallContext| {
        let (history, tools) = (history.clone(), tools.upgrade());
        async move { list(&*history, tools.as_deref(), request, &cx).await }
    };
    tool_fn("call_history", list).annotate(Annotations::READ_ONLY)
}

async fn list(
    history: &dyn CallHistory,
    tools: Option<&ToolManager>,
    request: CallHistoryRequest,
    cx: &CallContext,
) -> Result<Value, ToolError> {
    let recent = history.recent(LOOKED_THROUGH).await;
    let recent = recent.map_err(|error| store_unreachable("call_history", error, cx))?;
    let knows = |call: &RecordedCall| {
        let caller = call.start.caller.as_deref();
        let own = cx.caller.as_deref();
        tools.is_some_and(|tools| tools.knows_call(own, &cx.visibility, &call.start.tool, caller))
    };
    let wanted = |call: &&RecordedCall| {
        request.tool.as_ref().is_none_or(|tool| *call.start.tool == **tool) && knows(call)
    };
    let calls: Vec<_> = recent.iter().filter(wanted).take(request.limit).map(show).collect();
    Ok(json!({ "calls": calls }))
}

fn show(call: &RecordedCall) -> Value {
    let outcome = match call.end {
        Some((kind, _)) => kind.map_or("ok", ErrorKind::code),
        None => "running",
    };
    let arguments: Value = serde_json::from_str(&call.start.arguments).unwrap_or_default();
    json!({
        "id": call.start.id,
        "tool": &*call.start.tool,
        "server": call.server.as_deref(),
        "arguments": arguments,
        "outcome": outcome,
        "duration_ms": call.end.map(|(_, duration)| duration.as_nanos() as f64 / 1e6),
    })
}
