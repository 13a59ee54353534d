//! Decides what may run: allow, deny, read-only, ask a person first (SPEC §13 `[policy]`).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, ErrorKind, HumanDuration, PatternError, ToolError,
    ToolOrigin, ToolPatterns, ToolSpec,
};

use crate::{
    approval::{self, Approver},
    dispatch,
    record::CallRecord,
    tools::RegisteredTool,
};

/// Decides whether a call may run.
///
/// A policy that fails denies the call.
pub trait Policy: Send + Sync {
    /// Checks a call whose arguments are valid.
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> PolicyCheck<'a>;

    /// Returns the verdict for every call of the tool, for all arguments and callers. Tools that are denied this way
    /// are neither listed nor offered. Must not block: runs for each tool of a list.
    fn standing(&self, _tool: &RegisteredTool) -> Verdict {
        Verdict::Allow
    }

    /// Returns the rule that denies every call of the tool, if there is one.
    fn denial(&self, tool: &RegisteredTool) -> Option<String> {
        match self.standing(tool) {
            Verdict::Deny(rule) => Some(rule),
            Verdict::Allow | Verdict::AskFirst(_) => None,
        }
    }

    /// Returns how people are asked about held calls.
    fn approval_options(&self) -> ApprovalOptions {
        ApprovalOptions::default()
    }
}

/// How people are asked about held calls.
#[derive(Clone, Debug, Default)]
pub struct ApprovalOptions {
    /// The names of arguments whose values are hidden from the people who decide.
    pub secret_arguments: Arc<ToolPatterns>,
    /// Whether callers must not approve their own calls.
    pub four_eyes: bool,
    /// How long a person has to decide about a call that a profile holds; unless set, as long as `[policy]` says by default.
    pub ask_timeout: Option<Duration>,
}

/// A policy's verdict, now or later.
pub enum PolicyCheck<'a> {
    /// The verdict is known.
    Ready(Verdict),
    /// The verdict needs to be awaited.
    Pending(BoxFuture<'a, Result<Verdict, BoxError>>),
}

/// What a policy decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call must not run; the text names the rule.
    Deny(String),
    /// A person must approve the call.
    AskFirst(AskFirst),
}

/// A call that a person must approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskFirst {
    /// The rule that says so.
    pub rule: String,
    /// How long to wait for the decision.
    pub within: Duration,
}

/// Refuses a tool that the policy denies for all arguments, before they are validated: the errors would reveal the
/// schema of a tool that is not listed. Refuses one that may have side effects if the caller wants none.
pub(crate) fn check_tool(
    policy: &dyn Policy,
    tool: &RegisteredTool,
    cx: &CallContext,
) -> Result<(), ToolError> {
    if let Some(rule) = policy.denial(tool) {
        return Err(denied(tool, &rule));
    }
    if cx.read_only && !tool.spec().is_read_only() {
        let name = tool.name();
        let text = format!(
            "Tool '{name}' is not annotated as read-only, and only such tools may be called here"
        );
        return Err(ToolError::new(ErrorKind::Denied, text));
    }
    Ok(())
}

fn denied(tool: &RegisteredTool, rule: &str) -> ToolError {
    let (name, rule) = (tool.name(), shown_rule(tool, rule));
    ToolError::new(ErrorKind::Denied, format!("Tool '{name}' is denied by policy: {rule}"))
}

/// Returns a rule as the caller may read it: rules have the names that a tool has outside of a profile.
pub(crate) fn shown_rule<'a>(tool: &RegisteredTool, rule: &'a str) -> &'a str {
    if tool.is_renamed() { "a rule of the config" } else { rule }
}

/// Checks the policy, and waits for approval if it asks for that. Everything but a yes becomes `denied`.
pub(crate) async fn check(
    policy: &dyn Policy,
    approver: &dyn Approver,
    tool: &RegisteredTool,
    args: &Value,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<(), ToolError> {
    let Some(ask) = judge(policy, tool, args, cx, record).await? else { return Ok(()) };
    approval::until_allowed(approver, tool, args, ask, &policy.approval_options(), cx, record)
        .await?;
    // The rules may have changed while the call waited, and a person cannot allow what they forbid.
    judge(policy, tool, args, cx, record).await.map(drop)
}

/// Returns `None` if the call may run, or the approval that it needs.
async fn judge(
    policy: &dyn Policy,
    tool: &RegisteredTool,
    args: &Value,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<Option<AskFirst>, ToolError> {
    let denied = |rule: &str| denied(tool, rule);
    let verdict = match policy.check(tool, args, cx) {
        PolicyCheck::Ready(verdict) => Ok(verdict),
        // A remote policy may never respond: the deadline and the caller's cancellation apply here too.
        PolicyCheck::Pending(verdict) => {
            dispatch::within(async { Ok(verdict.await) }, cx, record).await?
        }
    };
    match verdict {
        Ok(Verdict::Allow) => Ok(asked_in_profile(policy, tool, cx)),
        Ok(Verdict::Deny(rule)) => Err(denied(&rule)),
        Ok(Verdict::AskFirst(ask)) => Ok(Some(ask)),
        Err(error) => Err(denied("the policy could not be asked").caused_by(error)),
    }
}

/// Returns the approval that the caller's profile wants for a call that the policy allows. A profile can hold calls, and
/// never allows one.
fn asked_in_profile(
    policy: &dyn Policy,
    tool: &RegisteredTool,
    cx: &CallContext,
) -> Option<AskFirst> {
    let rules = cx.visibility.rules()?;
    let names = tool.names().into_iter().chain([&**tool.name()]);
    rules.asks(&names.collect::<Vec<_>>()).then(|| AskFirst {
        rule: "`ask` of the profile".to_owned(),
        within: policy
            .approval_options()
            .ask_timeout
            .unwrap_or(PolicyConfig::default().ask_timeout.0),
    })
}

/// The settings of `[policy]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// Patterns of the tools that may run.
    pub allow: Vec<String>,
    /// Patterns of the tools that must not run; stronger than `allow`.
    pub deny: Vec<String>,
    /// Whether only tools annotated as read-only may run.
    pub read_only: bool,
    /// Patterns of the tools that run only if a person approves; weaker than `deny`.
    pub ask: Vec<String>,
    /// Whether a person must approve tools that may be destructive, as tools without annotations may be.
    pub ask_destructive: bool,
    /// CEL expressions over a call; a person must approve if one is true or fails.
    pub ask_if: Vec<String>,
    /// How long a person has to decide.
    pub ask_timeout: HumanDuration,
    /// Patterns of argument names, at any depth, whose values are hidden from the people who decide.
    pub secret_arguments: Vec<String>,
    /// Whether callers must not approve their own calls.
    pub four_eyes: bool,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            allow: vec!["*".to_owned()],
            deny: Vec::new(),
            read_only: false,
            ask: Vec::new(),
            ask_destructive: false,
            ask_if: Vec::new(),
            ask_timeout: HumanDuration(Duration::from_secs(300)),
            secret_arguments: Vec::new(),
            four_eyes: false,
        }
    }
}

/// A policy of patterns over tool names.
pub struct RulePolicy {
    config: PolicyConfig,
    /// Whether `allow` has a plain `*`: then no name needs matching.
    allows_all: bool,
    allow: ToolPatterns,
    deny: ToolPatterns,
    ask: ToolPatterns,
    asking: ApprovalOptions,
    /// `enabled_tools` of the servers that have such a list.
    enabled_tools: BTreeMap<String, ToolPatterns>,
}

impl RulePolicy {
    /// Compiles the rules.
    ///
    /// # Errors
    /// A pattern is invalid.
    pub fn new(config: PolicyConfig) -> Result<Self, PatternError> {
        let allows_all = config.allow.iter().any(|glob| glob == "*");
        let allow = match config.allow.as_slice() {
            // The default, whose patterns are never matched.
            [_] if allows_all => ToolPatterns::default(),
            allow => ToolPatterns::new(allow)?,
        };
        let (deny, ask) = (ToolPatterns::new(&config.deny)?, ToolPatterns::new(&config.ask)?);
        let secret_arguments = Arc::new(ToolPatterns::new(&config.secret_arguments)?);
        let asking = ApprovalOptions {
            secret_arguments,
            four_eyes: config.four_eyes,
            ask_timeout: Some(config.ask_timeout.0),
        };
        let enabled_tools = BTreeMap::new();
        Ok(Self { allows_all, allow, deny, ask, asking, enabled_tools, config })
    }

    /// Lets only those tools of a server run whose own names match one of the patterns.
    ///
    /// # Errors
    /// One of them is not a pattern.
    pub fn with_enabled_tools(
        mut self,
        server: &str,
        patterns: &[String],
    ) -> Result<Self, PatternError> {
        self.enabled_tools.insert(server.to_owned(), ToolPatterns::new(patterns)?);
        Ok(self)
    }

    /// Decides by a tool's names and annotations.
    pub fn judge(&self, tool: &RegisteredTool) -> Verdict {
        let (original, [shown, full, bare]) = (tool.original(), tool.names());
        let spec = original.spec();
        if let Some(server) = self.disabling_server(&spec.origin) {
            return Verdict::Deny(format!("no match in enabled_tools of server \"{server}\""));
        }
        // `deny` and `ask` apply to every name that finds the tool, so that no spelling avoids them; a bare name, or one
        // of a profile, does not widen `allow`.
        let names = [shown, full, bare, &**tool.name()];
        self.judge_named(&[shown, &*spec.name], &names, spec.is_read_only(), may_destroy(spec))
    }

    /// Returns the tool's server if its `enabled_tools` leave the tool out. Methods such as `resources/read` are no tools.
    fn disabling_server<'a>(&self, origin: &'a ToolOrigin) -> Option<&'a str> {
        let ToolOrigin::Server { server, tool } = origin else { return None };
        let enabled = self.enabled_tools.get(&**server)?;
        (!tool.contains('/') && !enabled.matches(tool)).then_some(server)
    }

    /// Decides by names alone.
    pub fn judge_names(&self, names: &[&str]) -> Verdict {
        self.judge_named(names, names, false, true)
    }

    fn judge_named(
        &self,
        allowed: &[&str],
        names: &[&str],
        is_read_only: bool,
        may_destroy: bool,
    ) -> Verdict {
        if let Some(rule) = rule(&self.deny, names) {
            return Verdict::Deny(format!("deny \"{}\"", self.config.deny[rule]));
        }
        if !self.allows_all && !allowed.iter().any(|name| self.allow.matches(name)) {
            return Verdict::Deny(format!("no match in allow {:?}", self.config.allow));
        }
        if self.config.read_only && !is_read_only {
            return Verdict::Deny(
                "read_only, and the tool is not annotated as read-only".to_owned(),
            );
        }
        match rule(&self.ask, names) {
            Some(rule) => self.ask_first(format!("ask \"{}\"", self.config.ask[rule])),
            None if self.config.ask_destructive && may_destroy => self.ask_first(
                "ask_destructive, and the tool is not annotated as non-destructive".to_owned(),
            ),
            None => Verdict::Allow,
        }
    }

    fn ask_first(&self, rule: String) -> Verdict {
        Verdict::AskFirst(AskFirst { rule, within: self.config.ask_timeout.0 })
    }
}

/// Returns the first rule that matches one of the names.
fn rule(rules: &ToolPatterns, names: &[&str]) -> Option<usize> {
    if rules.is_empty() {
        return None;
    }
    // `matches` is faster than `first_match`, and most names match nothing.
    let mut met = names.iter().enumerate().filter_map(|(at, name)| {
        let is_new = !names[..at].contains(name);
        (is_new && rules.matches(name)).then_some(name)
    });
    met.find_map(|name| rules.first_match(name))
}

/// Returns whether a tool may be destructive: by MCP's default, unless it is read-only or says otherwise.
fn may_destroy(spec: &ToolSpec) -> bool {
    !spec.is_read_only() && spec.annotations.destructive != Some(false)
}

impl Default for RulePolicy {
    /// Everything may run.
    fn default() -> Self {
        Self {
            config: PolicyConfig::default(),
            allows_all: true,
            allow: ToolPatterns::default(),
            deny: ToolPatterns::default(),
            ask: ToolPatterns::default(),
            asking: ApprovalOptions::default(),
            enabled_tools: BTreeMap::new(),
        }
    }
}

impl Policy for RulePolicy {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        _args: &'a Value,
        _cx: &'a CallContext,
    ) -> PolicyCheck<'a> {
        PolicyCheck::Ready(self.judge(tool))
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        self.judge(tool)
    }

    fn approval_options(&self) -> ApprovalOptions {
        self.asking.clone()
    }
}

/// A policy that can be replaced while calls run.
pub struct SwapPolicy(ArcSwap<Arc<dyn Policy>>);

impl SwapPolicy {
    /// Starts with this policy.
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self(ArcSwap::from_pointee(Arc::new(policy)))
    }

    /// Replaces the policy.
    pub fn swap(&self, policy: impl Policy + 'static) {
        self.0.store(Arc::new(Arc::new(policy)));
    }
}

impl Policy for SwapPolicy {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> PolicyCheck<'a> {
        let policy = self.0.load_full();
        if let PolicyCheck::Ready(verdict) = policy.check(tool, args, cx) {
            return PolicyCheck::Ready(verdict);
        }
        // The future holds on to the policy that it awaits.
        PolicyCheck::Pending(Box::pin(async move {
            match policy.check(tool, args, cx) {
                PolicyCheck::Ready(verdict) => Ok(verdict),
                PolicyCheck::Pending(verdict) => verdict.await,
            }
        }))
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        self.0.load().standing(tool)
    }

    fn approval_options(&self) -> ApprovalOptions {
        self.0.load().approval_options()
    }
}

impl<P: Policy + ?Sized> Policy for Arc<P> {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> PolicyCheck<'a> {
        (**self).check(tool, args, cx)
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        (**self).standing(tool)
    }

    fn approval_options(&self) -> ApprovalOptions {
        (**self).approval_options()
    }
}
