//! The settings of `[profiles.NAME]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ToolChange;
use crate::ToolBudget;

/// Which tools are listed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryMode {
    /// All that the caller may see.
    #[default]
    List,
    /// `tool_search`, `tool_call`, `tool_call_read_only`, `read_result` and the pinned ones.
    Search,
}

/// The settings of a profile.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileConfig {
    /// Globs of the tools that are in it, by their names outside of it.
    pub tools: Vec<String>,
    /// Globs of tools that are not in it, although `tools` matches them.
    pub deny: Vec<String>,
    /// Globs of the tools that run only if a person approves; besides those of the policy.
    pub ask: Vec<String>,
    /// How much of a model's window the definitions may take before the model searches for tools. Unless set, as `[agent]`
    /// says.
    pub tool_budget: Option<ToolBudget>,
    /// Which tools MCP clients list: all of the profile, or `tool_search` and what calls the tools that it finds. Unless set,
    /// as `[serve]` says.
    pub discovery: Option<DiscoveryMode>,
    /// Globs of the tools that are listed besides `tool_search`.
    pub pinned: Vec<String>,
    /// What MCP clients are told about the tools.
    pub instructions: Option<String>,
    /// How single tools look in it, by their names outside of it.
    pub tool: BTreeMap<String, ToolChange>,
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            tools: vec!["*".to_owned()],
            deny: Vec::new(),
            ask: Vec::new(),
            tool_budget: None,
            discovery: None,
            pinned: Vec::new(),
            instructions: None,
            tool: BTreeMap::new(),
        }
    }
}
