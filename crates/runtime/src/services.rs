//! Switchboard's own tools: what the runtime knows, offered like any other tool.

mod call_history;
mod read_result;
mod server_status;
mod tool_search;

use std::sync::Arc;

use switchboard_toolcall::Tool;

use crate::ToolExecutor;

/// The names of [`all`] of them.
pub(crate) const NAMES: [&str; 4] = ["read_result", "tool_search", "call_history", "server_status"];

/// The tools that read results and look at the runtime, in the order in which they are shown.
pub fn all(executor: &ToolExecutor) -> Vec<Arc<dyn Tool>> {
    // The manager will hold these tools: were they to hold it too, neither would ever go.
    let tools = Arc::downgrade(executor.tools());
    vec![
        Arc::new(read_result::tool(executor.artifacts().clone(), tools.clone())),
        Arc::new(tool_search::tool(tools.clone())),
        Arc::new(call_history::tool(executor.history().clone(), tools.clone())),
        Arc::new(server_status::tool(tools)),
    ]
}
