//! Records calls.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_toolcall::{
    BoxError, BoxFuture, CallId, ErrorKind, RunTurn, ToolResult, ToolSpec, TraceContext,
};

use super::{RedactedResult, Stages};
use crate::approval::Approval;

/// Records calls: before they run, and when they have ended.
pub trait Recorder: Send + Sync {
    /// Records that a call is about to run. The returned value says when that is durable.
    fn open(&self, start: Arc<CallStart>) -> RecordOpen<'_>;

    /// Records how the call ended. The returned value says when that is durable. Must not block: runs on a serving
    /// thread, also when a call is dropped.
    fn close(&self, end: CallEnd<'_>) -> RecordClose<'_>;
}

/// The outcome of opening a record.
pub enum RecordOpen<'a> {
    /// The record is written, or writing it failed.
    Done(Result<(), BoxError>),
    /// Written soon, together with other calls' records: needs no deadline.
    Batched(BoxFuture<'a, Result<(), BoxError>>),
    /// Still being written; the call's deadline applies.
    Pending(BoxFuture<'a, Result<(), BoxError>>),
}

/// The outcome of closing a record.
pub enum RecordClose<'a> {
    /// The record is written.
    Done,
    /// Written soon, together with other calls' records; immediately if the future is dropped.
    Batched(BoxFuture<'a, ()>),
}

/// What is known of a call before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStart {
    /// The id of the execution.
    pub id: CallId,
    /// The tool name that the caller used; of a tool that a profile renames, its name in the config.
    pub tool: Arc<str>,
    /// The name that the caller used for a tool that its profile renames.
    pub shown_as: Option<Arc<str>>,
    /// The profile through which the call was made.
    pub profile: Option<Arc<str>>,
    /// The arguments as JSON, secrets redacted.
    pub arguments: String,
    /// Who made the call.
    pub caller: Option<Arc<str>>,
    /// The client program, as it names itself.
    pub client: Option<Arc<str>>,
    /// The conversation that the call belongs to.
    pub conversation: Option<Arc<str>>,
    /// The turn of a run that made the call, as its key says: over a network, the word of a client.
    pub run: Option<RunTurn>,
    /// The SHA-256 of what the file of that run holds up to that turn, if this process has the run.
    pub turn_sha256: Option<Arc<str>>,
    /// When it began.
    pub started: SystemTime,
}

/// What is known of a call when it has ended.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// What was known before it ran.
    pub start: &'a Arc<CallStart>,
    /// The name of the tool, if it was found.
    pub tool: Option<&'a Arc<str>>,
    /// The tool's server, if it has one.
    pub server: Option<&'a Arc<str>>,
    /// The tool's definition, if it was found.
    pub spec: Option<&'a ToolSpec>,
    /// The caller's trace context.
    pub trace: Option<&'a TraceContext>,
    /// The kind of error, `None` if the call succeeded.
    pub error_kind: Option<ErrorKind>,
    /// How long it took, without the time for the approval, which is in `approval`.
    pub duration: Duration,
    /// How long each stage took, also without it.
    pub stages: Stages,
    /// The decision, if a person was asked.
    pub approval: Option<&'a Approval>,
    /// The result. `None` if the caller dropped the call.
    pub result: Option<&'a ToolResult>,
    /// The result with secrets redacted, for logs and records.
    pub redacted: &'a RedactedResult<'a>,
}
