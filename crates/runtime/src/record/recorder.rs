//! Who keeps records, and what it is told of a call.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_toolcall::{
    BoxError, BoxFuture, CallId, ErrorKind, ToolError, ToolOutput, ToolResult, ToolSpec,
    TraceContext,
};

use super::{Redacted, Stages, Tracer};
use crate::approval::{Approval, CallHeld};

/// Keeps records of calls.
pub trait Recorder: Send + Sync {
    /// Writes down that a call is about to run; what it returns says when that is safe.
    fn open(&self, start: Arc<CallStart>) -> Opening<'_>;

    /// Writes down how it ended; what it returns says when that is safe. Must not block.
    fn close(&self, end: CallEnd<'_>) -> Closing<'_>;

    /// Learns that a call waits for a person. Must not block.
    fn held(&self, _held: &CallHeld<'_>) {}

    /// Learns what became of that. Must not block.
    fn decided(&self, _held: &CallHeld<'_>, _approval: &Approval) {}

    /// The latest calls, newest first, those still running included.
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>>;

    /// Says that a call is about to be dispatched under an idempotency key, and learns whether it already was.
    ///
    /// Within one process the executor itself remembers keys; a recorder that outlives the process does better.
    fn claim<'a>(&'a self, _claim: &'a Claim) -> BoxFuture<'a, Result<Claimed, BoxError>> {
        Box::pin(std::future::ready(Ok(Claimed::First)))
    }

    /// Gives a claim back: the call was never dispatched. Must not block.
    fn release(&self, _claim: &Claim) {}

    /// Who gives calls their place in a trace; without one, tools get the caller's own.
    fn tracer(&self) -> Option<&dyn Tracer> {
        None
    }
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
pub enum Claimed {
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

/// Whether a record could be opened: known at once, or when it has been written.
pub enum Opening<'a> {
    /// Known.
    Now(Result<(), BoxError>),
    /// Written in a moment, together with what other calls write: not worth a deadline.
    Soon(BoxFuture<'a, Result<(), BoxError>>),
    /// Still being written.
    Later(BoxFuture<'a, Result<(), BoxError>>),
}

/// Whether the end of a call is written: by now, or when it has been waited for.
pub enum Closing<'a> {
    /// It is.
    Now,
    /// Written in a moment, together with what other calls write; at once where the future is dropped.
    Soon(BoxFuture<'a, ()>),
}

/// What is known of a call before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStart {
    /// The id of the execution.
    pub id: CallId,
    /// The name that was asked for.
    pub tool: Arc<str>,
    /// The arguments as JSON, secrets redacted.
    pub arguments: String,
    /// Who asked.
    pub caller: Option<Arc<str>>,
    /// The program that the caller uses, as it names itself.
    pub client: Option<Arc<str>>,
    /// The conversation it is part of.
    pub conversation: Option<Arc<str>>,
    /// When it began.
    pub started: SystemTime,
}

/// What is known of a call when it has ended.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// What was known before it ran.
    pub start: &'a Arc<CallStart>,
    /// The name of the tool that was found, where one was.
    pub tool: Option<&'a Arc<str>>,
    /// The server that the tool belongs to.
    pub server: Option<&'a Arc<str>>,
    /// What is known of the tool that was found.
    pub spec: Option<&'a ToolSpec>,
    /// The trace that the caller is part of.
    pub trace: Option<&'a TraceContext>,
    /// The kind of failure, or none.
    pub error_kind: Option<ErrorKind>,
    /// How long it took, without the time in which a person decided; that is in `approval`.
    pub duration: Duration,
    /// How long each stage took, likewise.
    pub stages: Stages,
    /// What a person said of it, where one was asked.
    pub approval: Option<&'a Approval>,
    /// What came of it; none where the caller walked away.
    pub result: Option<&'a ToolResult>,
    /// The answer, for logs and records.
    pub redacted: &'a Redacted<'a>,
}

/// A record as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// What was known before it ran.
    pub start: Arc<CallStart>,
    /// The server that the tool belongs to.
    pub server: Option<Arc<str>>,
    /// How it ended, `None` while it runs: the kind of failure, or none, and how long it took.
    pub end: Option<(Option<ErrorKind>, Duration)>,
}
