//! The views of the tools: profiles at `/mcp/NAME`, and search at `/mcp?tools=search`.

use std::error::Error;

use axum::http::Uri;
use indexmap::IndexMap;
use switchboard_mcp_server::{DiscoveryMode, McpCaller};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{ProfileConfig, ProfileRules, Visibility},
};

/// Adds the profiles of `--profiles`.
pub(crate) fn set_profiles(
    executor: &ToolExecutor,
    profiles: IndexMap<String, ProfileConfig>,
) -> Result<(), Box<dyn Error>> {
    let mut rules = Vec::new();
    for (name, config) in profiles {
        rules.push((name, ProfileRules::new(config)?));
    }
    executor.tools().set_profiles(rules);
    Ok(())
}

/// Returns the caller for requests to an address. `None` if there is no such profile.
pub(crate) fn caller(executor: &ToolExecutor, uri: &Uri) -> Option<McpCaller> {
    let discovery = match uri.query() {
        Some("tools=search") => Some(DiscoveryMode::Search),
        Some("tools=list") => Some(DiscoveryMode::List),
        _ => None,
    };
    let visibility = match uri.path().strip_prefix("/mcp/") {
        Some(name) => Visibility::of_profile(executor.tools().profile(name)?),
        None => Visibility::default(),
    };
    Some(McpCaller { discovery, visibility, ..McpCaller::default() })
}
