//! Why an expression fails; messages are those of mathjs if they are simple.

/// Why an expression could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not an expression.
    #[error("{message} (char {position})")]
    Syntax {
        /// What is wrong.
        message: String,
        /// Where it is wrong, counting characters from 1.
        position: usize,
    },
    /// The expression is well formed but has no value.
    #[error("{0}")]
    Evaluation(String),
    /// The expression asks for more time, memory or depth than it may have.
    #[error("{0}")]
    Limit(String),
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An evaluation error with `message`.
pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Evaluation(message.into()))
}
