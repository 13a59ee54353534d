//! The messages between gateways and workers: JSON, in NATS messages.
//!
//! A call is one [`WorkerRequest`] to the subject of its tool. On its reply subject follow, in this order: `Accepted` (or
//! `Refused`, and nothing else), any number of `Progress` and `Alive`, and one `Result` (or `Large`). A call that need not
//! wait, and ends within moments, has no `Accepted`. A call that
//! [waits](WorkerRequest::waits) starts when the worker is told to ([`GO`]) after `Accepted`. A gateway that gets a reply to
//! a call that nobody waits for responds with an empty message if it can: the worker then cancels the call.

mod outcome;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoxError, CallContext, CallId, ProgressUpdate, TraceContext, Visibility, client_name,
};
use tokio::time::Instant;

pub use outcome::{WireFailure, WireOutcome, WireOutput};

use crate::Error;

/// A call for a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRequest {
    /// The gateway's id of the call.
    pub call: CallId,
    /// The tool's name at the worker.
    pub tool: String,
    /// The arguments.
    pub args: Map<String, Value>,
    /// The name of the object with the arguments, if they are too large for a message; `args` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large_args: Option<String>,
    /// Whether the worker must wait for [`GO`]: a call that must not run twice then certainly has not started while no
    /// acceptance was received.
    #[serde(default)]
    pub waits: bool,
    /// The remaining time: a duration, since clocks of machines differ.
    pub time_left_ms: u64,
    /// Whether the caller wants progress updates.
    #[serde(default)]
    pub wants_progress: bool,
    /// Who makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The client program, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The claims of a trusted issuer about the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Value>,
    /// The conversation that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The key that is the same if the call is repeated after a crash; the worker's tools get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_key: Option<String>,
    /// The trace that the call belongs to: W3C's `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

impl WorkerRequest {
    /// Creates the request of a call.
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
            call_key: cx.call_key.as_deref().map(str::to_owned),
            traceparent: cx.trace.as_ref().map(|trace| trace.traceparent()),
        };
        request.time_left(cx);
        request
    }

    /// Sets the remaining time.
    pub(crate) fn time_left(&mut self, cx: &CallContext) {
        let left = cx.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.unwrap_or(Duration::MAX).as_millis();
        self.time_left_ms = u64::try_from(left).unwrap_or(u64::MAX);
    }

    /// Returns the call's context at the worker.
    pub fn context(&self) -> CallContext {
        let trace = self.traceparent.as_deref();
        let trace = trace.and_then(|parent| TraceContext::parse(parent, None));
        CallContext {
            timeout: Some(Duration::from_millis(self.time_left_ms)),
            caller: self.caller.as_deref().map(Arc::from),
            client: self.client.as_deref().and_then(client_name),
            // The gateway has checked the policy; at the worker, a caller may know of its own calls.
            visibility: Visibility::default().watching(self.caller.is_none()),
            claims: self.claims.clone().map(Arc::new),
            conversation: self.conversation.as_deref().map(Arc::from),
            idempotency_key: self.idempotency_key.as_deref().map(Arc::from),
            call_key: self.call_key.as_deref().map(Arc::from),
            trace: trace.map(Arc::new),
            // The gateway truncates by its own settings.
            whole: true,
            ..CallContext::default()
        }
    }
}

/// A worker's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerReply {
    /// It has accepted the call and runs it.
    Accepted {
        /// The worker.
        worker: String,
    },
    /// It refuses the call: another worker may take it.
    Refused(WorkerRefusal),
    /// A progress update.
    Progress(ProgressStep),
    /// A heartbeat.
    Alive,
    /// The outcome.
    Result(WireOutcome),
    /// The outcome, too large for a message: the name of an object with an [`WireOutcome`].
    Large(String),
}

/// Why a worker refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerRefusal {
    /// All its slots are taken.
    Busy,
    /// It is stopping.
    Leaving,
    /// It does not have the tool (any more).
    Unknown,
    /// It was not told to start.
    Untold,
    /// The request is not signed with the key of the worker's cluster.
    Unsigned,
    /// The request was signed too long ago, or the clocks are too far apart.
    Stale,
}

/// A progress update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgressStep {
    /// How much is done.
    pub progress: f64,
    /// The total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// A message for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<ProgressUpdate> for ProgressStep {
    fn from(ProgressUpdate { progress, total, message }: ProgressUpdate) -> Self {
        Self { progress, total, message }
    }
}

impl From<ProgressStep> for ProgressUpdate {
    fn from(ProgressStep { progress, total, message }: ProgressStep) -> Self {
        Self { progress, total, message }
    }
}

/// A notice to one worker, or to all of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerNotice {
    /// The call is cancelled.
    Cancel(CallId),
    /// A gateway misses the worker's entry or its heartbeats, and asks whether it is there: the reply is
    /// [`WorkerReply::Alive`].
    Report,
    /// A gateway that hears the worker's heartbeats does not know it: it says again what it is.
    Announce,
    /// Whether somebody watches the entries of workers, as gateways of 0.1.0 do: they miss a worker whose entry is not
    /// renewed within eight seconds. Said again every 20 s.
    Watched(bool),
}

/// Tells a worker to start an accepted call, sent to where `Accepted` came from.
pub const GO: &[u8] = b"go";

/// Replaces a value that is too large for a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargeObjectRef {
    /// The object's name.
    pub large: String,
}

/// Serializes a message.
///
/// # Errors
/// It cannot be serialized.
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

/// Deserializes a message; `what` names it in the error.
///
/// # Errors
/// It cannot be parsed.
pub fn read<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|reason| Error::Garbled { what, reason: reason.into() })
}

#[cfg(test)]
mod tests;
