//! How asking a model can fail.

use std::time::Duration;

use switchboard_toolcall::BoxError;

/// Why a turn failed: the kind of error, and what to tell the user. Never contains a key.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What happened, and what to do about it if that is known.
    pub message: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the provider wants us to wait.
    pub retry_after: Option<Duration>,
    #[source]
    cause: Option<BoxError>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The settings cannot work.
    Config,
    /// The provider could not be reached.
    Connect,
    /// The provider fell silent.
    Timeout,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// Too many requests or tokens for now.
    RateLimited,
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    Server,
    /// The conversation does not fit the model.
    ContextFull,
    /// The provider does not accept the request: no such model, no such capability, no money.
    Rejected,
    /// The connection ended in the middle of a turn.
    Cut,
    /// What came is not the provider's protocol.
    Unreadable,
    /// The model wrote a call that its server could not read.
    BrokenCall,
}

impl FailureKind {
    /// The stable code, as telemetry has it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::ContextFull => "context_full",
            Self::Rejected => "rejected",
            Self::Cut => "cut",
            Self::Unreadable => "unreadable",
            Self::BrokenCall => "broken_call",
        }
    }
}

impl ModelError {
    /// A failure of the given kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, cause: None }
    }

    /// The same failure with what caused it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<BoxError>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Whether the same request may well succeed a little later.
    pub fn is_passing(&self) -> bool {
        match self.kind {
            FailureKind::Connect
            | FailureKind::RateLimited
            | FailureKind::Overloaded
            | FailureKind::Cut
            | FailureKind::BrokenCall => true,
            FailureKind::Server => {
                self.status.is_none_or(|status| matches!(status, 500 | 502 | 503 | 504))
            }
            _ => false,
        }
    }
}
