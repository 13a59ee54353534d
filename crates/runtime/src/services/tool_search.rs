//! `tool_search`: finds tools by what they do.

use std::{cmp::Reverse, sync::Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_toolcall::{Annotations, CallContext, Tool, tool_fn};

use crate::tools::{RegisteredTool, ToolManager};

/// Finds the tools whose name or description has the given words.
#[derive(Deserialize, JsonSchema)]
struct ToolSearchRequest {
    /// Words to look for, such as "weather forecast".
    query: String,
    /// How many tools to return.
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    10
}

pub(super) fn tool(tools: Weak<ToolManager>) -> impl Tool {
    let search = move |request: ToolSearchRequest, cx: CallContext| {
        std::future::ready(search(&tools, &request, &cx))
    };
    tool_fn("tool_search", search).annotate(Annotations::READ_ONLY)
}

fn search(tools: &Weak<ToolManager>, request: &ToolSearchRequest, cx: &CallContext) -> Value {
    let mut all = tools.upgrade().map(|tools| tools.listed()).unwrap_or_default();
    all.retain(|tool| tool.is_visible(&cx.visibility));
    let words: Vec<_> = request.query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<_> = all.iter().map(|tool| (score(tool, &words), tool)).collect();
    found.retain(|(score, _)| *score > 0);
    // A stable sort keeps the tools' own order among equals.
    found.sort_by_key(|(score, _)| Reverse(*score));
    let tools = found.iter().take(request.limit).map(|(_, tool)| {
        let spec = tool.spec();
        json!({"name": &**tool.name(), "description": spec.description, "parameters": spec.parameters})
    });
    json!({"tools": tools.collect::<Vec<_>>()})
}

/// A word in the name counts for more than one in the description.
fn score(tool: &RegisteredTool, words: &[String]) -> usize {
    let name = tool.name().to_lowercase();
    let description = tool.spec().description.to_lowercase();
    let word_score = |word: &String| {
        3 * usize::from(name.contains(word.as_str()))
            + usize::from(description.contains(word.as_str()))
    };
    words.iter().map(word_score).sum()
}
