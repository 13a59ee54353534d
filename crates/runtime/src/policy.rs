//! What may run: allow, deny, only read, ask a person first (SPEC §13 `[policy]`).

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, ErrorKind, HumanDuration, PatternError, ToolError,
    ToolPatterns, ToolSpec,
};

use crate::{
    approval::{self, Approver},
    dispatch,
    record::CallRecord,
    tools::RegisteredTool,
};

/// Decides whether a call may run.
///
/// A policy that cannot answer says so with an error, and the answer is then no.
pub trait Policy: Send + Sync {
    /// Judges a call whose arguments are valid.
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> Answer<'a>;

    /// Returns what is said of every call of the tool, whatever its arguments and whoever calls. Tools that are denied so are
    /// neither listed nor offered. Must not block: it is asked for each tool of a list.
    fn standing(&self, _tool: &RegisteredTool) -> Verdict {
        Verdict::Allow
    }

    /// Returns the rule by which every call of the tool is denied.
    fn denial(&self, tool: &RegisteredTool) -> Option<String> {
        match self.standing(tool) {
            Verdict::Deny(rule) => Some(rule),
            Verdict::Allow | Verdict::AskFirst(_) => None,
        }
    }

    /// How people are asked about calls that are left to them.
    fn asking(&self) -> Asking {
        Asking::default()
    }
}

/// How people are asked.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// The names of arguments whose values people are not shown.
    pub secret_arguments: Arc<ToolPatterns>,
    /// Whether who asks cannot allow.
    pub four_eyes: bool,
}

/// A policy's answer: given at once, or when somebody has been asked.
pub enum Answer<'a> {
    /// The verdict.
    Now(Verdict),
    /// The verdict is still to come.
    Later(BoxFuture<'a, Result<Verdict, BoxError>>),
}

/// What a policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not; the text names the rule.
    Deny(String),
    /// A person decides.
    AskFirst(AskFirst),
}

/// A call that is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskFirst {
    /// The rule that says so.
    pub rule: String,
    /// How long an answer is waited for.
    pub within: Duration,
}

/// Refuses a tool that the policy denies whatever the arguments: what is wrong with them would tell of a tool that is not
/// listed.
pub(crate) fn check_tool(policy: &dyn Policy, tool: &RegisteredTool) -> Result<(), ToolError> {
    policy.denial(tool).map_or(Ok(()), |rule| Err(denied(tool.name(), &rule)))
}

fn denied(tool: &str, rule: &str) -> ToolError {
    ToolError::new(ErrorKind::Denied, format!("Tool '{tool}' is denied by policy: {rule}"))
}

/// Asks the policy, and a person where it says so; turns everything but a yes into `denied`.
pub(crate) async fn check(
    policy: &dyn Policy,
    approver: &dyn Approver,
    tool: &RegisteredTool,
    args: &Value,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<(), ToolError> {
    let Some(ask) = judge(policy, tool, args, cx, record).await? else { return Ok(()) };
    approval::until_allowed(approver, tool, args, ask, &policy.asking(), cx, record).await?;
    // The rules may have changed while the call waited, and a person cannot allow what they forbid.
    judge(policy, tool, args, cx, record).await.map(drop)
}

/// What the policy says; a question where a person is to be asked.
async fn judge(
    policy: &dyn Policy,
    tool: &RegisteredTool,
    args: &Value,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<Option<AskFirst>, ToolError> {
    let denied = |rule: &str| denied(tool.name(), rule);
    let verdict = match policy.check(tool, args, cx) {
        Answer::Now(verdict) => Ok(verdict),
        // Whoever is asked may never answer: the deadline and the caller's cancel hold here too.
        Answer::Later(verdict) => dispatch::within(async { Ok(verdict.await) }, cx, record).await?,
    };
    match verdict {
        Ok(Verdict::Allow) => Ok(None),
        Ok(Verdict::Deny(rule)) => Err(denied(&rule)),
        Ok(Verdict::AskFirst(ask)) => Ok(Some(ask)),
        Err(error) => Err(denied("the policy could not be asked").caused_by(error)),
    }
}

/// The settings of `[policy]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// ToolPatterns of the tools that may run.
    pub allow: Vec<String>,
    /// ToolPatterns of the tools that may not; stronger than `allow`.
    pub deny: Vec<String>,
    /// Whether only tools annotated as read-only may run.
    pub read_only: bool,
    /// ToolPatterns of the tools that run only when a person allows it; weaker than `deny`.
    pub ask: Vec<String>,
    /// Whether a person is asked about tools that may destroy something, as those may that say nothing of themselves.
    pub ask_destructive: bool,
    /// Expressions over a call; where one is true, or cannot be answered, a person is asked.
    pub ask_if: Vec<String>,
    /// How long a person has to answer.
    pub ask_timeout: HumanDuration,
    /// ToolPatterns of the names of arguments, at any depth, whose values people who are asked do not see.
    pub secret_arguments: Vec<String>,
    /// Whether who asks cannot allow: somebody else must.
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

/// A policy of globs over tool names.
pub struct RulePolicy {
    config: PolicyConfig,
    /// Whether `allow` has a plain `*`: then no name needs matching.
    allows_all: bool,
    allow: ToolPatterns,
    deny: ToolPatterns,
    ask: ToolPatterns,
    asking: Asking,
}

impl RulePolicy {
    /// Compiles the rules.
    ///
    /// # Errors
    /// A glob is not one; nothing may run under rules that cannot be read.
    pub fn new(config: PolicyConfig) -> Result<Self, PatternError> {
        let allows_all = config.allow.iter().any(|glob| glob == "*");
        let allow = match config.allow.as_slice() {
            // The default, which is never asked.
            [_] if allows_all => ToolPatterns::default(),
            allow => ToolPatterns::new(allow)?,
        };
        let (deny, ask) = (ToolPatterns::new(&config.deny)?, ToolPatterns::new(&config.ask)?);
        let secret_arguments = Arc::new(ToolPatterns::new(&config.secret_arguments)?);
        let asking = Asking { secret_arguments, four_eyes: config.four_eyes };
        Ok(Self { allows_all, allow, deny, ask, asking, config })
    }

    /// Judges a tool by its names and annotations.
    pub fn judge(&self, tool: &RegisteredTool) -> Verdict {
        let spec = tool.spec();
        // `deny` and `ask` meet every name that finds the tool, so that no spelling walks around them; what `allow` lets
        // through is not widened by a bare name.
        let allowed = [&**tool.name(), spec.name.as_str()];
        self.judge_named(&allowed, &tool.names(), spec.is_read_only(), may_destroy(spec))
    }

    /// Judges a tool of which nothing but its names is known.
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
                "ask_destructive, and the tool does not say that it destroys nothing".to_owned(),
            ),
            None => Verdict::Allow,
        }
    }

    fn ask_first(&self, rule: String) -> Verdict {
        Verdict::AskFirst(AskFirst { rule, within: self.config.ask_timeout.0 })
    }
}

/// The first rule that meets one of the names.
fn rule(rules: &ToolPatterns, names: &[&str]) -> Option<usize> {
    if rules.is_empty() {
        return None;
    }
    // Whether there is one is quicker to say than which, and most names meet none.
    let mut met = names.iter().enumerate().filter_map(|(at, name)| {
        let is_new = !names[..at].contains(name);
        (is_new && rules.matches(name)).then_some(name)
    });
    met.find_map(|name| rules.first_match(name))
}

/// Whether a tool may destroy something: MCP takes that of each that neither only reads nor says otherwise.
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
            asking: Asking::default(),
        }
    }
}

impl Policy for RulePolicy {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        _args: &'a Value,
        _cx: &'a CallContext,
    ) -> Answer<'a> {
        Answer::Now(self.judge(tool))
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        self.judge(tool)
    }

    fn asking(&self) -> Asking {
        self.asking.clone()
    }
}

/// A policy in whose place another can be put while calls run.
pub struct SwapPolicy(ArcSwap<Box<dyn Policy>>);

impl SwapPolicy {
    /// Begins with this policy.
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self(ArcSwap::from_pointee(Box::new(policy)))
    }

    /// Asks this policy from now on.
    pub fn swap(&self, policy: impl Policy + 'static) {
        self.0.store(Arc::new(Box::new(policy)));
    }
}

impl Policy for SwapPolicy {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> Answer<'a> {
        let policy = self.0.load_full();
        if let Answer::Now(verdict) = policy.check(tool, args, cx) {
            return Answer::Now(verdict);
        }
        // Whoever has to be asked is asked by a future that holds the policy.
        Answer::Later(Box::pin(async move {
            match policy.check(tool, args, cx) {
                Answer::Now(verdict) => Ok(verdict),
                Answer::Later(verdict) => verdict.await,
            }
        }))
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        self.0.load().standing(tool)
    }

    fn asking(&self) -> Asking {
        self.0.load().asking()
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> Answer<'a> {
        (**self).check(tool, args, cx)
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        (**self).standing(tool)
    }

    fn asking(&self) -> Asking {
        (**self).asking()
    }
}

impl<P: Policy + ?Sized> Policy for Arc<P> {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> Answer<'a> {
        (**self).check(tool, args, cx)
    }

    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        (**self).standing(tool)
    }

    fn asking(&self) -> Asking {
        (**self).asking()
    }
}
