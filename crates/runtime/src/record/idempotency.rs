//! Idempotency keys that outlive the process.

use std::{sync::Arc, time::Duration};

use switchboard_toolcall::{BoxError, BoxFuture, CallId, ToolError, ToolOutput};

/// Remembers which call an idempotency key stands for. Within one process the executor itself remembers keys; a store
/// that outlives the process does better.
pub trait IdempotencyStore: Send + Sync {
    /// Claims the key for a call that is about to be dispatched, and returns what became of an earlier one.
    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<ClaimOutcome, BoxError>>;

    /// Gives a claim back: the call was never dispatched. Must not block.
    fn release(&self, claim: &Claim);
}

/// An idempotency key and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The execution that asks.
    pub id: CallId,
    /// Who asks; keys of different callers have nothing to do with each other.
    pub caller: Option<Arc<str>>,
    /// The caller's word for this very act.
    pub key: Arc<str>,
    /// Of the tool's name and the arguments.
    pub fingerprint: [u8; 32],
    /// How long the key stands for the call.
    pub within: Duration,
}

/// What became of an earlier call under the same idempotency key.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// There is none: this call may be dispatched.
    First,
    /// It runs, in this process or another.
    Running(CallId),
    /// It ended, as the record says; its secrets are redacted.
    Ended(CallId, Result<ToolOutput, ToolError>),
    /// Its process died while it ran.
    Unknown(CallId),
    /// It had other arguments, or was of another tool.
    Other(CallId),
}
