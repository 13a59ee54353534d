//! Callers, and what they may know.

use std::{sync::Arc, time::SystemTime};

use http::HeaderMap;
use serde_json::Value;
use switchboard_runtime::{CallNames, RegisteredTool, ToolManager};
use switchboard_toolcall::{
    CallContext, CallerToken, Principal, Profile, ToolPatterns, Visibility,
};

/// The header in which the owner, over our own socket, sets the caller name of a call.
pub const CALLER_HEADER: &str = "x-switchboard-caller";

/// The header in which a request over REST names the profile through which it sees the tools.
pub const PROFILE_HEADER: &str = "x-switchboard-profile";

/// The header in which the owner, over our own socket, names the client program.
pub const CLIENT_HEADER: &str = "x-switchboard-client";

/// Who makes a request. Cheap to clone.
#[derive(Clone, Default)]
pub struct Caller {
    /// The name of the token, if there is one.
    pub name: Option<Arc<str>>,
    /// Who was authenticated: decides whose credentials the caller's calls use.
    pub principal: Principal,
    /// The JWT that was shown, if one was: exchanged for tokens of servers.
    pub token: Option<CallerToken>,
    /// The client program, if the request came over our own socket and named it.
    pub client: Option<Arc<str>>,
    /// The claims of the caller's JWT; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// Whether the token may start and stop servers.
    pub is_admin: bool,
    /// Whether it may decide about held calls.
    pub may_approve: bool,
    /// What its chats may cost; no limit if `None`.
    pub cost_budget: Option<CostBudget>,
    /// What it may know.
    visibility: Visibility,
}

/// What a token's chats may cost in 24 hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostBudget {
    /// The most, by the prices of the models.
    pub most: f64,
    /// What was before is not counted: the token was made then.
    pub since: SystemTime,
}

impl Caller {
    /// Creates a caller that may see these tools; all if `None`.
    pub fn new(name: Option<Arc<str>>, tools: Option<Arc<ToolPatterns>>) -> Self {
        Self::with_claims(name, tools, None)
    }

    /// Like [`new`](Self::new), with the claims of its JWT.
    pub fn with_claims(
        name: Option<Arc<str>>,
        tools: Option<Arc<ToolPatterns>>,
        claims: Option<Arc<Value>>,
    ) -> Self {
        let visibility = match tools {
            Some(tools) => Visibility::of_tools(move |name| tools.matches(name)),
            None => Visibility::default(),
        };
        // A caller with a name may know of its own calls only, unless its token says otherwise.
        let visibility = visibility.watching(name.is_none());
        let principal = Principal::Unknown;
        let (client, token) = (None, None);
        let (is_admin, may_approve) = (false, false);
        let cost_budget = None;
        Self {
            name,
            principal,
            token,
            client,
            claims,
            is_admin,
            may_approve,
            cost_budget,
            visibility,
        }
    }

    /// Creates the user who runs the gateway.
    pub(crate) fn owner() -> Self {
        Self { principal: Principal::Owner, ..Self::default() }
    }

    /// Sets who was authenticated.
    #[must_use]
    pub fn authenticated(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self
    }

    /// Creates the owner, named as the headers of a request over our own socket say: it may administer under any name.
    pub(crate) fn introduced(headers: &HeaderMap) -> Self {
        let said = |name: &str| headers.get(name)?.to_str().ok().map(Arc::from);
        let (name, client) = (said(CALLER_HEADER), said(CLIENT_HEADER));
        Self { name, client, is_admin: true, ..Self::owner() }
    }

    /// Returns whether the caller may start and stop servers, as anonymous callers may if no token is required.
    pub fn may_administer(&self) -> bool {
        self.is_admin || self.name.is_none()
    }

    /// Sets whether the caller may decide about held calls.
    #[must_use]
    pub fn approving(mut self, may: bool) -> Self {
        self.may_approve = may;
        self
    }

    /// Sets whether the caller may know of everybody's calls.
    #[must_use]
    pub fn watching(mut self, may: bool) -> Self {
        self.visibility = self.visibility.watching(may);
        self
    }

    /// Limits the caller to the tools of a profile, as they look there.
    #[must_use]
    pub fn in_profile(mut self, profile: Arc<Profile>) -> Self {
        self.visibility = self.visibility.within(profile);
        self
    }

    /// Limits the caller to the tools of a person, whose claims, sign-ins and cost budget it gets.
    #[must_use]
    pub(crate) fn within(mut self, person: &Self) -> Self {
        if person.visibility.hides_tools() {
            self.visibility = self.visibility.limited_to(&person.visibility);
        }
        self.cost_budget = self.cost_budget.or(person.cost_budget);
        self.claims.clone_from(&person.claims);
        self.principal = person.principal.clone();
        self.token.clone_from(&person.token);
        self
    }

    /// Returns what the caller may know.
    pub fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// Returns the context of a call that the caller makes.
    pub fn context(&self) -> CallContext {
        CallContext {
            caller: self.name.clone(),
            principal: self.principal.clone(),
            token: self.token.clone(),
            client: self.client.clone(),
            claims: self.claims.clone(),
            visibility: self.visibility().clone(),
            ..CallContext::default()
        }
    }

    /// Returns what the caller calls the tool of a recorded call. `None` if it may not know of the call.
    pub fn shown_call(&self, call: &CallNames<'_>, tools: &ToolManager) -> Option<String> {
        tools.shown_call(self.name.as_deref(), self.visibility(), call)
    }

    /// Returns whether the caller may know of calls of `tool`, as the config names it, that `caller` made.
    pub fn knows_call(&self, tool: &str, caller: Option<&str>, tools: &ToolManager) -> bool {
        tools.knows_call(self.name.as_deref(), self.visibility(), tool, caller)
    }

    /// Returns whether the tool that the caller calls by this name exists for it.
    pub fn may_see(&self, name: &str, tools: &ToolManager) -> bool {
        tools.is_visible(name, self.visibility())
    }

    /// Returns whether the tool exists for the caller; `ToolManager::view` says how it looks.
    pub fn sees(&self, tool: &RegisteredTool) -> bool {
        tool.is_visible(self.visibility())
    }
}
