//! Idempotency keys that survive the process.

use std::{sync::Arc, time::Duration};

use switchboard_toolcall::{BoxError, BoxFuture, CallId, ToolError, ToolOutput};

/// Stores which call an idempotency key was used for. The executor remembers keys within one process; a store makes
/// them survive it.
pub trait IdempotencyStore: Send + Sync {
    /// Claims the key for a call that is about to be dispatched. Returns what happened to an earlier one.
    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<ClaimOutcome, BoxError>>;

    /// Releases a claim of a call that was never dispatched. Must not block: runs when a call is dropped.
    fn release(&self, claim: &Claim);
}

/// An idempotency key and the call that it is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The id of the call.
    pub id: CallId,
    /// The caller; keys are separate for each caller.
    pub caller: Option<Arc<str>>,
    /// The key, chosen by the caller.
    pub key: Arc<str>,
    /// Hash of the tool's name and the arguments.
    pub fingerprint: [u8; 32],
    /// How long the key is remembered.
    pub within: Duration,
}

/// What happened to an earlier call with the same idempotency key.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// There was none: this call may be dispatched.
    First,
    /// The call is running, in this process or another.
    Running(CallId),
    /// The call ended with this result.
    Ended(CallId, Result<ToolOutput, ToolError>),
    /// It ended, but its result is not kept as it was: results are not recorded, or secrets in it are redacted.
    NotKept(CallId),
    /// Its process died while it ran.
    Unknown(CallId),
    /// The key was used for another tool or other arguments.
    Other(CallId),
}
