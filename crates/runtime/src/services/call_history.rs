//! `call_history`: lists the latest calls.

use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Tool, ToolError, tool_fn};

use crate::{
    profiles::CallNames,
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
    let known = recent.iter().filter_map(|call| {
        let (own, names) = (cx.caller.as_deref(), CallNames::of(&call.start));
        let name = tools?.shown_call(own, &cx.visibility, &names)?;
        let is_wanted = request.tool.as_ref().is_none_or(|wanted| *wanted == name);
        is_wanted.then_some((call, name))
    });
    let shown =
        known.take(request.limit).filter_map(|(call, name)| Some(show(call, name, tools?, cx)));
    Ok(json!({ "calls": shown.collect::<Vec<_>>() }))
}

/// Returns the call as the caller knows its tool.
fn show(call: &RecordedCall, name: String, tools: &ToolManager, cx: &CallContext) -> Value {
    let outcome = match call.end {
        Some((kind, _)) => kind.map_or("ok", ErrorKind::code),
        None => "running",
    };
    let mut arguments: Value = serde_json::from_str(&call.start.arguments).unwrap_or_default();
    if let Value::Object(arguments) = &mut arguments {
        tools.shown_arguments(&cx.visibility, &name, arguments);
    }
    json!({
        "id": call.start.id,
        "tool": name,
        "server": call.server.as_deref(),
        "arguments": arguments,
        "outcome": outcome,
        "duration_ms": call.end.map(|(_, duration)| duration.as_nanos() as f64 / 1e6),
    })
}
