//! Who writes down calls, and what it is told of them.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_toolcall::{
    BoxError, BoxFuture, CallId, ErrorKind, ToolResult, ToolSpec, TraceContext,
};

use super::{Redacted, Stages};
use crate::approval::Approval;

/// Writes down calls: before they run, and when they have ended.
pub trait Recorder: Send + Sync {
    /// Writes down that a call is about to run; what it returns says when that is safe.
    fn open(&self, start: Arc<CallStart>) -> RecordOpen<'_>;

    /// Writes down how it ended; what it returns says when that is safe. Must not block.
    fn close(&self, end: CallEnd<'_>) -> RecordClose<'_>;
}

/// Whether a record could be opened.
pub enum RecordOpen<'a> {
    /// It is written, or failed.
    Done(Result<(), BoxError>),
    /// Written in a moment, together with what other calls write: not worth a deadline.
    Batched(BoxFuture<'a, Result<(), BoxError>>),
    /// Still being written; the call's deadline applies.
    Pending(BoxFuture<'a, Result<(), BoxError>>),
}

/// Whether the end of a call is written.
pub enum RecordClose<'a> {
    /// It is.
    Done,
    /// Written in a moment, together with what other calls write; at once if the future is dropped.
    Batched(BoxFuture<'a, ()>),
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
