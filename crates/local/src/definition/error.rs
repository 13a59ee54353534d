//! What can be wrong with a definition.

use crate::HandlerKind;

/// A definition that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A mock that does not say what it answers.
    #[error("tool `{tool}`: a mock needs `mock_response`")]
    NoResponse {
        /// The defined tool.
        tool: String,
    },
    /// A mock that names a handler.
    #[error("tool `{tool}`: `handler` is only for builtin and internal")]
    HandlerOfMock {
        /// The defined tool.
        tool: String,
    },
    /// A handler is asked for, but not named.
    #[error("tool `{tool}`: type `{kind}` needs `handler`")]
    NoHandler {
        /// The defined tool.
        tool: String,
        /// The kind of handler it asks for.
        kind: HandlerKind,
    },
    /// Both a handler and a fixed answer.
    #[error("tool `{tool}`: `mock_response` is only for mock")]
    ResponseOfHandler {
        /// The defined tool.
        tool: String,
    },
    /// Both a handler and answers to certain arguments.
    #[error("tool `{tool}`: `mock_responses` is only for mock")]
    ResponsesOfHandler {
        /// The defined tool.
        tool: String,
    },
    /// An answer to certain arguments that is none, or two.
    #[error("tool `{tool}`: `mock_responses[{number}]` needs `response` or `error`, one of them")]
    ResponseOrError {
        /// The defined tool.
        tool: String,
        /// Which answer, from 0.
        number: usize,
    },
}
