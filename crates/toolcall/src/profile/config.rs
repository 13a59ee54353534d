//! The settings of `[profiles.NAME]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ToolChange;

/// Which tools are listed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Discovery {
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
    /// Which tools MCP clients list: all of the profile, or `tool_search` and what calls the tools that it finds. Unless set,
    /// as `[serve]` says.
    pub discovery: Option<Discovery>,
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
            discovery: None,
            pinned: Vec::new(),
            instructions: None,
            tool: BTreeMap::new(),
        }
    }
}
