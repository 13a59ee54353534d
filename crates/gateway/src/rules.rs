//! Rules that look at who asks and what for: expressions in CEL over claims, names and arguments.
//!
//! They stand before another policy, and can only take away from what that one allows. An expression that cannot be evaluated
//! means no.

mod names;
mod question;

use std::sync::Arc;

use cel::{Context, Env, ExecutionError, Program, Value as Outcome};
use serde_json::Value;
use switchboard_runtime::{Policy, RegisteredTool, policy::Answer, policy::Verdict};
use switchboard_toolcall::CallContext;

use question::Question;

/// A policy of expressions around another policy.
pub struct RuleSet<P> {
    inner: P,
    env: Arc<Env>,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

/// An expression that is true or false of a call.
struct Rule {
    text: String,
    program: Program,
}

/// Why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// It is no expression.
    #[error("`[serve] {list}`: `{rule}` is not an expression: {reason}")]
    Syntax {
        /// The list that it stands in.
        list: &'static str,
        /// The rule.
        rule: String,
        /// What is wrong.
        reason: String,
    },
    /// It speaks of something that there is not.
    #[error(
        "`[serve] {list}`: `{rule}` speaks of `{name}`; there are claims, caller, tool, server, args and read_only"
    )]
    Unknown {
        /// The list that it stands in.
        list: &'static str,
        /// The rule.
        rule: String,
        /// What there is not.
        name: String,
    },
}

impl<P: Policy> RuleSet<P> {
    /// Compiles `allow_if` and `deny_if`, to be asked before `inner`.
    ///
    /// # Errors
    /// An expression does not compile, or speaks of something that there is not.
    pub fn new(allow_if: &[String], deny_if: &[String], inner: P) -> Result<Self, RuleError> {
        let env = Arc::new(Env::stdlib());
        let compile = |list, rules: &[String]| {
            rules.iter().map(|rule| Rule::compile(&env, list, rule)).collect::<Result<Vec<_>, _>>()
        };
        let (allow, deny) = (compile("allow_if", allow_if)?, compile("deny_if", deny_if)?);
        Ok(Self { inner, env, allow, deny })
    }

    fn judge(&self, question: &Question<'_>) -> Verdict {
        let mut cx = Context::with_env(self.env.clone());
        cx.set_variable_resolver(question);
        for rule in &self.deny {
            match rule.holds(&cx) {
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
        // One that cannot be answered does not allow; another still may.
        match self.allow.is_empty() || self.allow.iter().any(|rule| rule.holds(&cx) == Ok(true)) {
            true => Verdict::Allow,
            false => Verdict::Deny("no expression in allow_if says yes".to_owned()),
        }
    }
}

impl<P: Policy> Policy for RuleSet<P> {
    fn check<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        args: &'a Value,
        cx: &'a CallContext,
    ) -> Answer<'a> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return self.inner.check(tool, args, cx);
        }
        // The rules are asked first: nobody should be bothered about a call that they forbid.
        match self.judge(&Question::new(tool, args, cx)) {
            Verdict::Allow => self.inner.check(tool, args, cx),
            no => Answer::Now(no),
        }
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
        // A function that there is not shows itself only when it is called.
        let mut cx = Context::with_env(env.clone());
        cx.set_variable_resolver(&names::Sample);
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
