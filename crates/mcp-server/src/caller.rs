//! Who is calling, and what they may see.

use std::sync::Arc;

use serde_json::Value;
use switchboard_runtime::RegisteredTool;
use switchboard_toolcall::Visibility;

/// Who makes a request; the embedder sets it.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The name for records and policy: a token's, for example.
    pub name: Option<Arc<str>>,
    /// The program that it calls with, if that is known better than from what MCP says of the client.
    pub client: Option<Arc<str>>,
    /// What a trusted issuer says of the caller, for policy; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// What the caller may know. A tool that it may not see is not listed, and answers as unknown.
    pub visibility: Visibility,
}

impl Caller {
    /// Makes a caller that may see everything.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Whether the tool may be seen, under any name that it has.
    pub fn sees(&self, tool: &RegisteredTool) -> bool {
        tool.is_visible(&self.visibility)
    }

    /// Whether something called so may be seen.
    pub fn sees_name(&self, name: &str) -> bool {
        self.visibility.sees_name(name)
    }

    /// Whether what the one is shown must not be shown to others.
    pub(crate) fn is_restricted(&self) -> bool {
        self.visibility.hides_tools()
    }
}
