//! `tool_search`: finds tools by what they do.

use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, Tool, tool_fn};

use crate::{
    record::CallHistory,
    tool_index::FoundTool,
    tools::{RegisteredTool, ToolManager},
};

/// Finds tools by what they do. Say what you want to do, in a few words or a sentence; the best fit comes first, with its parameters as a JSON Schema.
#[derive(Deserialize, JsonSchema)]
struct ToolSearchRequest {
    /// What the tool should do, such as "rename a file" or "what is the weather tomorrow".
    query: String,
    /// How many tools to return.
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    5
}

/// How many tools a search returns at most.
const MOST: usize = 100;
/// Callers know these already: what finds tools, and what reads long results.
const NOT_FOUND: [&str; 2] = ["tool_search", "read_result"];

pub(super) fn tool(history: Arc<dyn CallHistory>, tools: Weak<ToolManager>) -> impl Tool {
    let search = move |request: ToolSearchRequest, cx: CallContext| {
        let (history, tools) = (history.clone(), tools.upgrade());
        async move {
            // Without records, nothing is known to have been called before.
            let called = history.called_by(cx.caller.clone()).await.unwrap_or_default();
            let most = request.limit.min(MOST);
            let found = match tools {
                Some(tools) => {
                    let most = most.saturating_add(NOT_FOUND.len());
                    tools.search(&request.query, most, &called, &cx.visibility).await
                }
                None => Vec::new(),
            };
            let found = found.iter().filter(|found| !NOT_FOUND.contains(&&**found.tool.name()));
            json!({"tools": found.take(most).map(show).collect::<Vec<_>>()})
        }
    };
    tool_fn("tool_search", search).annotate(Annotations::READ_ONLY)
}

fn show(found: &FoundTool) -> Value {
    let tool: &RegisteredTool = &found.tool;
    let spec = tool.spec();
    json!({
        "name": &**tool.name(),
        "description": spec.description,
        "parameters": spec.parameters,
        "read_only": spec.is_read_only(),
    })
}
