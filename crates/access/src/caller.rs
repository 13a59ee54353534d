//! Who asks, and what it may know.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;
use switchboard_runtime::{RegisteredTool, ToolManager};
use switchboard_toolcall::{CallContext, ToolPatterns, Visibility};

/// The header in which the owner, over our own socket, says under which name a call is recorded.
pub const CALLER_HEADER: &str = "x-switchboard-caller";

/// The header in which the owner, over our own socket, says with which program it calls.
pub const CLIENT_HEADER: &str = "x-switchboard-client";

/// Who asks. Cheap to clone.
#[derive(Clone, Default)]
pub struct Caller {
    /// The name of the token, where there is one.
    pub name: Option<Arc<str>>,
    /// The program that it calls with, if it came over our own socket and said so.
    pub client: Option<Arc<str>>,
    /// What the issuer of the caller's JWT says of it; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// Whether the token may start and stop servers.
    pub is_admin: bool,
    /// Whether it may decide about held calls.
    pub may_approve: bool,
    /// What it may know.
    visibility: Visibility,
}

impl Caller {
    /// Somebody who may see these tools; all where unset.
    pub fn new(name: Option<Arc<str>>, tools: Option<Arc<ToolPatterns>>) -> Self {
        Self::with_claims(name, tools, None)
    }

    /// As [`new`](Self::new), with what the issuer of its JWT says of it.
    pub fn with_claims(
        name: Option<Arc<str>>,
        tools: Option<Arc<ToolPatterns>>,
        claims: Option<Arc<Value>>,
    ) -> Self {
        let visibility = match tools {
            Some(tools) => Visibility::of_tools(move |name| tools.matches(name)),
            None => Visibility::default(),
        };
        // Who has a name knows of its own calls only, unless its token says otherwise.
        let visibility = visibility.watching(name.is_none());
        Self { name, client: None, claims, is_admin: false, may_approve: false, visibility }
    }

    /// The owner, as the headers of a request over our own socket introduce it: it may administer under any name.
    pub(crate) fn introduced(headers: &HeaderMap) -> Self {
        let said = |name: &str| headers.get(name)?.to_str().ok().map(Arc::from);
        let (name, client) = (said(CALLER_HEADER), said(CLIENT_HEADER));
        Self { name, client, is_admin: true, ..Self::default() }
    }

    /// Whether the caller may start and stop servers: nobody in particular may, where no token is demanded.
    pub fn may_administer(&self) -> bool {
        self.is_admin || self.name.is_none()
    }

    /// The same caller, who may decide about held calls where `may` says so.
    #[must_use]
    pub fn approving(mut self, may: bool) -> Self {
        self.may_approve = may;
        self
    }

    /// The same caller, who knows of everybody's calls if `may` is true.
    #[must_use]
    pub fn watching(mut self, may: bool) -> Self {
        self.visibility = self.visibility.watching(may);
        self
    }

    /// Returns what the caller may know.
    pub fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// Returns what surrounds a call that the caller makes.
    pub fn context(&self) -> CallContext {
        CallContext {
            caller: self.name.clone(),
            client: self.client.clone(),
            claims: self.claims.clone(),
            visibility: self.visibility().clone(),
            ..CallContext::default()
        }
    }

    /// Returns whether the caller may know of calls of `tool`, asked for under this name, that `caller` made.
    pub fn knows_call(&self, tool: &str, caller: Option<&str>, tools: &ToolManager) -> bool {
        tools.knows_call(self.name.as_deref(), self.visibility(), tool, caller)
    }

    /// Whether what this name finds exists for the caller, under any name that it has.
    pub fn may_see(&self, name: &str, tools: &ToolManager) -> bool {
        tools.is_visible(name, self.visibility())
    }

    /// Whether the tool exists for the caller.
    pub fn sees(&self, tool: &RegisteredTool) -> bool {
        tool.is_visible(self.visibility())
    }
}
