//! The caller of a request, and what it may see.

use std::sync::Arc;

use serde_json::Value;
use switchboard_runtime::RegisteredTool;
use switchboard_toolcall::{CallerToken, Principal, Visibility};

use crate::DiscoveryMode;

/// The caller of a request; set by the embedder.
#[derive(Clone, Debug, Default)]
pub struct McpCaller {
    /// The name for records and policy: a token's, for example.
    pub name: Option<Arc<str>>,
    /// Who was authenticated: decides whose credentials the caller's calls use.
    pub principal: Principal,
    /// The JWT with which the caller was authenticated, if it was by one.
    pub token: Option<CallerToken>,
    /// The program that the caller uses, if the embedder knows it better than MCP's client info does.
    pub client: Option<Arc<str>>,
    /// The claims of a trusted issuer about the caller, for policy; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// Which tools are listed to the caller; `None` for what the settings say.
    pub discovery: Option<DiscoveryMode>,
    /// What the caller may know. A tool that it may not see is not listed, and a call of it fails as unknown.
    pub visibility: Visibility,
}

impl McpCaller {
    /// Makes a caller that may see everything.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Makes the user who runs this process.
    pub fn owner() -> Self {
        Self { principal: Principal::Owner, ..Self::default() }
    }

    /// Whether the tool may be seen: a tool of a list that was made for the caller's profile.
    pub(crate) fn sees(&self, tool: &RegisteredTool) -> bool {
        tool.is_visible(&self.visibility)
    }

    /// Returns the name of the profile through which the caller sees the tools.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.visibility.profile().map(|profile| &**profile.name())
    }

    /// Returns whether somebody is the same caller, with the same view of the tools.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.profile() == other.profile()
    }

    /// Returns whether responses to the caller must not be cached for others.
    pub(crate) fn is_restricted(&self) -> bool {
        self.visibility.hides_tools()
    }
}
