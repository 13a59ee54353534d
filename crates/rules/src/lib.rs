//! Rules that look at who calls what: expressions in CEL over claims, names and arguments.
//!
//! A [`RuleSet`] wraps another policy and can only narrow what that one allows. An expression that cannot be evaluated denies
//! the call; one of `ask_if` that cannot be evaluated asks a person.
//!
//! ```
//! use serde_json::json;
//! # use serde_json::{Map, Value};
//! use switchboard_rules::RuleSet;
//! use switchboard_runtime::{RulePolicy, ToolExecutor};
//! # use switchboard_toolcall::{CallContext, tool_fn};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let deny_if = [r#"tool == "delete" && args.path.startsWith("/etc")"#.to_owned()];
//! let rules = RuleSet::new(&[], &deny_if, RulePolicy::default())?;
//! let executor = ToolExecutor::builder().policy(rules).build();
//! # let delete = tool_fn("delete", |_: Map<String, Value>, _: CallContext| async { "deleted" }).describe("Deletes a file.");
//! # executor.tools().add(delete)?;
//!
//! let result = executor.call("delete", json!({"path": "/tmp/notes"})).await;
//! assert_eq!(result.text(), "deleted");
//! let result = executor.call("delete", json!({"path": "/etc/passwd"})).await;
//! assert!(result.text().contains("deny_if"));
//! # Ok(()) }
//! ```

mod names;
mod variables;

use std::{sync::Arc, time::Duration};

use cel::{Context, Env, ExecutionError, Program, Value as Outcome};
use serde_json::Value;
use switchboard_runtime::{
    ApprovalOptions, AskFirst, Policy, RegisteredTool, policy::PolicyCheck, policy::Verdict,
};
use switchboard_toolcall::CallContext;

use variables::CallVariables;

/// A policy of expressions around another policy.
pub struct RuleSet<P> {
    inner: P,
    env: Arc<Env>,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    /// How long a person has to answer.
    within: Duration,
}

/// An expression that is true or false of a call.
struct Rule {
    text: String,
    program: Program,
}

/// Why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// It is not an expression.
    #[error("`{list}`: `{rule}` is not an expression: {reason}")]
    Syntax {
        /// The list that holds it.
        list: &'static str,
        /// The rule.
        rule: String,
        /// What is wrong.
        reason: String,
    },
    /// It uses a name that does not exist.
    #[error(
        "`{list}`: `{rule}` speaks of `{name}`; there are claims, caller, tool, server, args and read_only"
    )]
    Unknown {
        /// The list that holds it.
        list: &'static str,
        /// The rule.
        rule: String,
        /// The unknown name.
        name: String,
    },
}

impl<P: Policy> RuleSet<P> {
    /// Compiles `allow_if` and `deny_if`, which are evaluated before `inner` is asked.
    ///
    /// # Errors
    /// An expression does not compile, or uses an unknown name.
    pub fn new(allow_if: &[String], deny_if: &[String], inner: P) -> Result<Self, RuleError> {
        let env = Arc::new(Env::stdlib());
        let allow = compiled(&env, "[serve] allow_if", allow_if)?;
        let deny = compiled(&env, "[serve] deny_if", deny_if)?;
        Ok(Self { inner, env, allow, deny, ask: Vec::new(), within: Duration::ZERO })
    }

    /// Compiles `ask_if` too: a call for which one of these is true, and which nothing denies, is left to a person.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn ask_if(mut self, ask_if: &[String], within: Duration) -> Result<Self, RuleError> {
        self.ask = compiled(&self.env, "[policy] ask_if", ask_if)?;
        self.within = within;
        Ok(self)
    }

    fn judge(&self, cx: &Context<'_, '_>) -> Verdict {
        for rule in &self.deny {
            match rule.holds(cx) {
                Ok(false) => {}
                Ok(true) => return Verdict::Deny(format!("deny_if \"{}\"", rule.text)),
                Err(reason) => {
                    let text = &rule.text;
                    return Verdict::Deny(format!(
                        "deny_if \"{text}\" cannot be answered: {reason}"
                    ));
                }
            }
        }
        // One that cannot be evaluated does not allow; another still may.
        match self.allow.is_empty() || self.allow.iter().any(|rule| rule.holds(cx) == Ok(true)) {
            true => Verdict::Allow,
            false => Verdict::Deny("no expression in allow_if says yes".to_owned()),
        }
    }

    /// Returns the question to a person if an expression is true or cannot be evaluated.
    fn asks(&self, cx: &Context<'_, '_>) -> Option<AskFirst> {
        let rule = self.ask.iter().find_map(|rule| match rule.holds(cx) {
            Ok(false) => None,
            Ok(true) => Some(format!("ask_if \"{}\"", rule.text)),
            Err(reason) => Some(format!("ask_if \"{}\" cannot be answered: {reason}", rule.text)),
        });
        rule.map(|rule| AskFirst { rule, within: self.within })
    }
}

fn compiled(env: &Arc<Env>, list: &'static str, rules: &[String]) -> Result<Vec<Rule>, RuleError> {
    rules.iter().map(|rule| Rule::compile(env, list, rule)).collect()
}

impl<P: Policy> Policy for RuleSet<P> {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> PolicyCheck<'a> {
        if self.allow.is_empty() && self.deny.is_empty() && self.ask.is_empty() {
            return self.inner.check(tool, args, cx);
        }
        let variables = CallVariables::new(tool, args, cx);
        let mut context = Context::with_env(self.env.clone());
        context.set_variable_resolver(&variables);
        // The rules come first: people should not be asked about a call that they deny.
        match self.judge(&context) {
            Verdict::Allow => match self.inner.check(tool, args, cx) {
                PolicyCheck::Ready(Verdict::Allow) => PolicyCheck::Ready(
                    self.asks(&context).map_or(Verdict::Allow, Verdict::AskFirst),
                ),
                other => other,
            },
            no => PolicyCheck::Ready(no),
        }
    }

    /// Returns what `inner` says: what expressions say may depend on caller and arguments, so the tools that they deny are listed.
    fn standing(&self, tool: &RegisteredTool) -> Verdict {
        self.inner.standing(tool)
    }

    fn approval_options(&self) -> ApprovalOptions {
        self.inner.approval_options()
    }
}

impl Rule {
    fn compile(env: &Arc<Env>, list: &'static str, text: &str) -> Result<Self, RuleError> {
        let unknown = |name: &str| {
            let (rule, name) = (text.to_owned(), name.to_owned());
            Err(RuleError::Unknown { list, rule, name })
        };
        let program = env.compile(text).map_err(|errors| {
            let reason = errors.errors.first().map(ToString::to_string).unwrap_or_default();
            RuleError::Syntax { list, rule: text.to_owned(), reason }
        })?;
        if let Some(name) = names::unknown(program.expression()) {
            return unknown(&name);
        }
        // An unknown function shows only when it is called.
        let mut cx = Context::with_env(env.clone());
        cx.set_variable_resolver(&names::SampleVariables);
        match program.execute(&cx) {
            Err(ExecutionError::UndeclaredReference(name)) => unknown(&name),
            _ => Ok(Self { text: text.to_owned(), program }),
        }
    }

    fn holds(&self, cx: &Context<'_, '_>) -> Result<bool, String> {
        match self.program.execute(cx) {
            Ok(Outcome::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("it is {}, neither true nor false", other.type_of())),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
