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
/// How many of the latest calls tell what a caller prefers.
const LOOKED_THROUGH: usize = 200;

pub(super) fn tool(history: Arc<dyn CallHistory>, tools: Weak<ToolManager>) -> impl Tool {
    let search = move |request: ToolSearchRequest, cx: CallContext| {
        let (history, tools) = (history.clone(), tools.upgrade());
        async move {
            let called = called_before(&*history, &cx).await;
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

/// Returns the names of tools that the caller called, as its latest calls have them. Without records, none.
async fn called_before(history: &dyn CallHistory, cx: &CallContext) -> Vec<Arc<str>> {
    let calls = history.recent(LOOKED_THROUGH).await.unwrap_or_default().into_iter();
    let own = calls.filter(|call| call.start.caller == cx.caller);
    let mut names: Vec<Arc<str>> = own.map(|call| call.start.tool.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
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
