//! What gateways and workers say to each other: JSON, in NATS messages.
//!
//! A call is one [`Request`] to the subject of its tool. On the subject of its answer come, in this order: `Accepted` (or
//! `Refused`, and nothing else), any number of `Progress` and `Alive`, and one `Result` (or `Large`).
//! A call that [waits](Request::waits) begins when the worker is told to ([`GO`]) after `Accepted`. Who hears of a call that it
//! does not wait for answers with an empty message where it can: the worker then gives it up.

mod outcome;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoxError, CallContext, CallId, ProgressUpdate, TraceContext, Visibility, client_name,
};
use tokio::time::Instant;

pub use outcome::{Failure, Outcome, Output};

use crate::Error;

/// A call, as a worker is asked to run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The gateway's id of the execution.
    pub call: CallId,
    /// The tool's name at the worker.
    pub tool: String,
    /// The arguments.
    pub args: Map<String, Value>,
    /// Where the arguments lie that are too large for a message; `args` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large_args: Option<String>,
    /// Whether the worker begins only when it is told to: a call that must not run twice then certainly has not begun as
    /// long as nobody has heard that it was taken.
    #[serde(default)]
    pub waits: bool,
    /// How long it may take from now on: clocks of machines differ, so no moment is named.
    pub time_left_ms: u64,
    /// Whether somebody wants to hear how far it is.
    #[serde(default)]
    pub wants_progress: bool,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The program that the caller uses, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What a trusted issuer says of who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Value>,
    /// The conversation that the call is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The caller's word for this very act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The trace that the call is part of: W3C's `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

impl Request {
    /// What a tool that was called so asks of a worker.
    pub fn new(call: CallId, tool: &str, args: Map<String, Value>, cx: &CallContext) -> Self {
        let mut request = Self {
            call,
            tool: tool.to_owned(),
            args,
            large_args: None,
            waits: false,
            time_left_ms: u64::MAX,
            wants_progress: cx.progress.is_watched(),
            caller: cx.caller.as_deref().map(str::to_owned),
            client: cx.client.as_deref().map(str::to_owned),
            claims: cx.claims.as_deref().cloned(),
            conversation: cx.conversation.as_deref().map(str::to_owned),
            idempotency_key: cx.idempotency_key.as_deref().map(str::to_owned),
            traceparent: cx.trace.as_ref().map(|trace| trace.traceparent()),
        };
        request.time_left(cx);
        request
    }

    /// Notes how long it may take from now on.
    pub fn time_left(&mut self, cx: &CallContext) {
        let left = cx.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.unwrap_or(Duration::MAX).as_millis();
        self.time_left_ms = u64::try_from(left).unwrap_or(u64::MAX);
    }

    /// What surrounds the call at the worker.
    pub fn context(&self) -> CallContext {
        let trace = self.traceparent.as_deref();
        let trace = trace.and_then(|parent| TraceContext::parse(parent, None));
        CallContext {
            timeout: Some(Duration::from_millis(self.time_left_ms)),
            caller: self.caller.as_deref().map(Arc::from),
            client: self.client.as_deref().and_then(client_name),
            // The gateway has decided about the tool; of calls at the worker, a caller knows its own.
            visibility: Visibility::default().watching(self.caller.is_none()),
            claims: self.claims.clone().map(Arc::new),
            conversation: self.conversation.as_deref().map(Arc::from),
            idempotency_key: self.idempotency_key.as_deref().map(Arc::from),
            trace: trace.map(Arc::new),
            // Whoever asked cuts it as its own settings say.
            whole: true,
            ..CallContext::default()
        }
    }
}

/// What a worker says of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It has the call and runs it.
    Accepted {
        /// The worker.
        worker: String,
    },
    /// It does not run the call, and never will: another worker may.
    Refused(Refusal),
    /// How far the call is.
    Progress(Step),
    /// It is still at it.
    Alive,
    /// What came of it.
    Result(Outcome),
    /// What came of it, too large for a message: an [`Outcome`], and where it lies.
    Large(String),
}

/// Why a worker does not run a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It has as many calls as it can run.
    Busy,
    /// It is about to leave.
    Leaving,
    /// It does not have the tool (any more).
    Unknown,
    /// It was not told to begin.
    Untold,
    /// The request is not signed with the key of the worker's cluster.
    Unsigned,
    /// The request was signed too long ago, or the clocks are too far apart.
    Stale,
}

/// A report of progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How much is done.
    pub progress: f64,
    /// How much there is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<ProgressUpdate> for Step {
    fn from(ProgressUpdate { progress, total, message }: ProgressUpdate) -> Self {
        Self { progress, total, message }
    }
}

impl From<Step> for ProgressUpdate {
    fn from(Step { progress, total, message }: Step) -> Self {
        Self { progress, total, message }
    }
}

/// What a worker, or all of a group, is told beside calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// Nobody waits for this call any more.
    Cancel(CallId),
}

/// What tells a worker to begin with a call that waits for that, at the address that `Accepted` came from.
pub const GO: &[u8] = b"go";

/// Stands in a bucket for what is too large for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargeObject {
    /// Where it lies.
    pub large: String,
}

/// A message as the bytes that are sent.
///
/// # Errors
/// It cannot be written as JSON.
pub fn write(message: &impl Serialize) -> Result<bytes::Bytes, Error> {
    let mut bytes = Vec::with_capacity(128);
    write_to(&mut bytes, message).map(|()| bytes.into())
}

/// Appends a message to bytes.
pub(crate) fn write_to(bytes: &mut Vec<u8>, message: &impl Serialize) -> Result<(), Error> {
    let garbled = |reason: serde_json::Error| Error::Garbled {
        what: "what was to be sent",
        reason: BoxError::from(reason),
    };
    serde_json::to_writer(bytes, message).map_err(garbled)
}

/// A message from the bytes that came; `what` names it in the error.
///
/// # Errors
/// It is something else.
pub fn read<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|reason| Error::Garbled { what, reason: reason.into() })
}

#[cfg(test)]
mod tests;
