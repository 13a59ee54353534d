//! What can be wrong with a definition.

use super::ImplementationType;

/// A definition that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A mock that does not say what it answers.
    #[error("tool `{tool}`: a mock needs `mock_response`")]
    NoResponse {
        /// The defined tool.
        tool: String,
    },
    /// A key that says what another type does.
    #[error("tool `{tool}`: `{key}` is only for {kinds}")]
    OnlyFor {
        /// The defined tool.
        tool: String,
        /// The key.
        key: &'static str,
        /// The types that it goes with.
        kinds: String,
    },
    /// A key without which the type does nothing.
    #[error("tool `{tool}`: type `{kind}` needs `{key}`")]
    Needs {
        /// The defined tool.
        tool: String,
        /// Its type.
        kind: ImplementationType,
        /// The key.
        key: &'static str,
    },
    /// A mock response has neither `response` nor `error`, or both.
    #[error("tool `{tool}`: `mock_responses[{number}]` needs `response` or `error`, one of them")]
    ResponseOrError {
        /// The defined tool.
        tool: String,
        /// Which answer, from 0.
        number: usize,
    },
    /// A key whose value cannot be used.
    #[error("tool `{tool}`: `{key}`: {problem}")]
    Wrong {
        /// The defined tool.
        tool: String,
        /// The key, with the way to it: `args[1]`, `query.q`.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// What is wrong with one key of a definition.
pub(crate) struct DefinitionProblem {
    pub(crate) key: String,
    pub(crate) problem: String,
}

impl DefinitionProblem {
    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }

    /// The error of the tool's definition.
    pub(crate) fn of(self, tool: &str) -> DefinitionError {
        DefinitionError::Wrong { tool: tool.to_owned(), key: self.key, problem: self.problem }
    }
}
