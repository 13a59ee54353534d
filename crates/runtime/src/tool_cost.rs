//! How many tokens of a model's context the definitions of tools take (SPEC FT-3, FT-4).

use std::{collections::HashMap, sync::Arc};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;
use switchboard_search::estimate_tokens;

use switchboard_toolcall::Visibility;

use crate::tools::{RegisteredTool, ToolManager};

/// Of definitions, a token has more bytes than this, and fewer than [`MOST_BYTES`], whatever the tokenizer.
const LEAST_BYTES: usize = 2;
const MOST_BYTES: usize = 7;

/// What definitions cost, by server.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ToolCosts {
    /// The tokens of all definitions.
    pub total_tokens: usize,
    /// The servers, in order; local tools are those of a server without a name.
    pub servers: Vec<ServerCost>,
    /// The profiles, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileCost>,
}

/// What the definitions of a profile cost.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ProfileCost {
    /// The profile's name.
    pub profile: String,
    /// The tokens of its definitions.
    pub tokens: usize,
    /// How many tools it has.
    pub tools: usize,
}

/// What the definitions of a server cost.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ServerCost {
    /// The server's name; `None` for local tools.
    pub server: Option<String>,
    /// The tokens of its definitions.
    pub tokens: usize,
    /// Its tools, in order.
    pub tools: Vec<ToolCost>,
}

/// What one definition costs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ToolCost {
    /// The tool's name, as it is shown.
    pub name: String,
    /// The tokens of its definition.
    pub tokens: usize,
    /// How often it was called in the last 30 days.
    pub calls_30d: u64,
}

impl ToolCosts {
    /// Counts the tokens of tools; `calls` has how often each name was called lately.
    pub fn count(tools: &[Arc<RegisteredTool>], calls: &HashMap<String, u64>) -> Self {
        let mut servers = IndexMap::<Option<String>, ServerCost>::new();
        for tool in tools {
            let server = tool.spec().server().map(ToString::to_string);
            let entry = servers.entry(server.clone());
            let cost = entry.or_insert_with(|| ServerCost { server, ..ServerCost::default() });
            let tokens = estimate_tokens(&definition(tool));
            let mut names = tool.names().to_vec();
            names.sort_unstable();
            names.dedup();
            let calls_30d = names.iter().filter_map(|name| calls.get(*name)).sum();
            cost.tokens += tokens;
            cost.tools.push(ToolCost { name: tool.name().to_string(), tokens, calls_30d });
        }
        let servers: Vec<_> = servers.into_values().collect();
        let total_tokens = servers.iter().map(|server| server.tokens).sum();
        Self { total_tokens, servers, profiles: Vec::new() }
    }

    /// Counts the tokens of each profile's tools.
    pub fn count_profiles(&mut self, manager: &ToolManager) {
        let profiles = manager.profiles().into_iter().map(|profile| {
            let tools = manager.listed_for(&Visibility::of_profile(profile.clone()));
            let tokens = tools.iter().map(|tool| estimate_tokens(&definition(tool))).sum();
            ProfileCost { profile: profile.name().to_string(), tokens, tools: tools.len() }
        });
        self.profiles = profiles.collect();
    }

    /// Returns the tokens of tools that nobody called in the last 30 days.
    pub fn unused_tokens(&self) -> usize {
        let tools = self.servers.iter().flat_map(|server| &server.tools);
        tools.filter(|tool| tool.calls_30d == 0).map(|tool| tool.tokens).sum()
    }
}

/// Returns whether the definitions of tools take more than `budget` tokens. Counts them only if their bytes do not tell.
pub fn exceed_tokens(tools: &[Arc<RegisteredTool>], budget: u64) -> bool {
    let (bytes, budget) = (bytes(tools), usize::try_from(budget).unwrap_or(usize::MAX));
    if bytes / LEAST_BYTES <= budget {
        return false;
    }
    if bytes / MOST_BYTES > budget {
        return true;
    }
    tools.iter().map(|tool| estimate_tokens(&definition(tool))).sum::<usize>() > budget
}

fn bytes(tools: &[Arc<RegisteredTool>]) -> usize {
    tools.iter().map(|tool| tool.definition_bytes()).sum()
}

/// Returns the definition as models get it.
pub(crate) fn definition(tool: &RegisteredTool) -> String {
    let spec = tool.spec();
    json!({"name": &**tool.name(), "description": spec.description, "parameters": spec.parameters})
        .to_string()
}
