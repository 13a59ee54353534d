//! Rules that are tried on recorded calls before they are in a config.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_runtime::{Policy, PolicyConfig};

/// Rules as a config has them: `[policy]`, and `allow_if` and `deny_if` of `[serve]`.
#[derive(Clone, Debug, Default)]
pub struct CandidateRules {
    /// `[policy]`.
    pub policy: PolicyConfig,
    /// Expressions, one of which must be true of a call, if there are any.
    pub allow_if: Vec<String>,
    /// Expressions, none of which may be true of a call.
    pub deny_if: Vec<String>,
}

/// Compiles rules with expressions, which the gateway itself cannot evaluate.
pub trait RuleCompiler: Send + Sync {
    /// Returns the policy of these rules.
    ///
    /// # Errors
    /// A pattern or an expression is wrong: the reason, for people.
    fn compile(&self, rules: CandidateRules) -> Result<Arc<dyn Policy>, String>;
}

impl CandidateRules {
    /// Reads rules from JSON: the keys of `[policy]`, `allow_if` and `deny_if`.
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut keys: Map<String, Value> = serde_json::from_slice(body)?;
        let mut expressions = |key: &str| match keys.shift_remove(key) {
            Some(list) => Vec::deserialize(list),
            None => Ok(Vec::new()),
        };
        let (allow_if, deny_if) = (expressions("allow_if")?, expressions("deny_if")?);
        Ok(Self { policy: PolicyConfig::deserialize(Value::Object(keys))?, allow_if, deny_if })
    }

    /// Whether any rule is an expression.
    pub(crate) fn has_expressions(&self) -> bool {
        let lists = [&self.policy.ask_if, &self.allow_if, &self.deny_if];
        lists.iter().any(|list| !list.is_empty())
    }
}
