//! Switchboard's own tools: what the runtime knows, as tools.

mod call_history;
mod read_result;
mod server_status;
mod tool_search;

use std::sync::Arc;

use switchboard_toolcall::Tool;

use crate::ToolExecutor;

/// The names of [`all`] tools.
pub(crate) const NAMES: [&str; 4] = ["read_result", "tool_search", "call_history", "server_status"];

/// Returns the tools that read results and inspect the runtime, in the order in which they are listed.
pub fn all(executor: &ToolExecutor) -> Vec<Arc<dyn Tool>> {
    // The manager holds these tools, so they must not hold the manager: neither would ever be dropped.
    let tools = Arc::downgrade(executor.tools());
    vec![
        Arc::new(read_result::tool(executor.artifacts().clone(), tools.clone())),
        Arc::new(tool_search::tool(executor.history().clone(), tools.clone())),
        Arc::new(call_history::tool(executor.history().clone(), tools.clone())),
        Arc::new(server_status::tool(tools)),
    ]
}
