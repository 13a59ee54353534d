//! One record per call: opened before anything runs, closed even if the caller walks away.

mod memory;
mod redacted;
mod stages;
mod tracer;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, CallId, ErrorKind, Reused, ToolCall, ToolError, ToolOutput,
    ToolResult, ToolSpec, TraceContext,
};
use tokio::time::Instant;

use crate::{
    approval::{Approval, CallHeld},
    config::Config,
    dispatch, log, redact,
    tools::RegisteredTool,
};

pub use memory::MemoryRecorder;
pub use redacted::Redacted;
use stages::Marks;
pub use stages::Stages;
pub use tracer::{Span, Tracer, Work};

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
    /// How long it took.
    pub duration: Duration,
    /// How long each stage took.
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

/// The open record of a running call; closes itself as cancelled when dropped.
pub(crate) struct CallRecord {
    recorder: Arc<dyn Recorder>,
    config: Arc<Config>,
    tool_call_id: String,
    start: Arc<CallStart>,
    trace: Option<Arc<TraceContext>>,
    /// Whether the result is wanted whole.
    whole: bool,
    marks: Marks,
    tool: Option<Arc<RegisteredTool>>,
    /// Why the record could not be opened, where it could not.
    unwritten: Option<BoxError>,
    /// The end of a call whose time was over before its record was open.
    cut_short: Option<ToolError>,
    reused: OnceLock<Reused>,
    approval: OnceLock<Approval>,
    closed: bool,
}

impl CallRecord {
    pub(crate) async fn open(
        recorder: &Arc<dyn Recorder>,
        config: Arc<Config>,
        call: ToolCall,
        cx: &CallContext,
    ) -> (Self, Map<String, Value>) {
        let now = SystemTime::now();
        let start = Arc::new(CallStart {
            id: CallId::generate_at(now),
            tool: call.name.into(),
            arguments: redact::object(&call.args),
            caller: cx.caller.clone(),
            conversation: cx.conversation.clone(),
            started: now,
        });
        let mut record = Self {
            recorder: recorder.clone(),
            config,
            tool_call_id: call.id,
            start: start.clone(),
            trace: cx.trace.clone(),
            whole: cx.whole,
            marks: Marks::default(),
            tool: None,
            unwritten: None,
            cut_short: None,
            reused: OnceLock::new(),
            approval: OnceLock::new(),
            closed: false,
        };
        let opened = match recorder.open(start) {
            Opening::Now(opened) => Ok(opened),
            Opening::Soon(opened) => Ok(opened.await),
            // A store that never answers must not keep the call past its deadline.
            Opening::Later(opened) => {
                dispatch::within(async { Ok(opened.await) }, cx, &record).await
            }
        };
        match opened {
            Ok(opened) => record.unwritten = opened.err(),
            Err(error) => record.cut_short = Some(error),
        }
        record.marks.opened = Some(Instant::now());
        (record, call.args)
    }

    /// Ends the call whose time was over before its record was open.
    pub(crate) fn opened(&mut self) -> Result<(), ToolError> {
        self.cut_short.take().map_or(Ok(()), Err)
    }

    /// Notes the tool that the call's name found.
    pub(crate) fn found(&mut self, tool: &Arc<RegisteredTool>) {
        self.tool = Some(tool.clone());
        self.marks.found = Some(Instant::now());
    }

    /// Notes that nothing speaks against the call.
    pub(crate) fn checked(&mut self) {
        self.marks.checked = Some(Instant::now());
    }

    /// Notes that the tool begins to run.
    pub(crate) fn dispatched(&self) {
        // Set once: a call is dispatched once.
        let _ = self.marks.dispatched.set(Instant::now());
    }

    /// Whether the tool has begun to run.
    pub(crate) fn was_dispatched(&self) -> bool {
        self.marks.dispatched.get().is_some()
    }

    /// Notes that there is an outcome.
    pub(crate) fn ended(&mut self) {
        self.marks.ended = Some(Instant::now());
    }

    /// Notes that the answer was there already.
    pub(crate) fn reuses(&self, reused: Reused) {
        let _ = self.reused.set(reused);
    }

    /// Why the tool did not run, where an answer was there already.
    pub(crate) fn reused(&self) -> Option<Reused> {
        self.reused.get().copied()
    }

    /// Notes what a person said of the call.
    pub(crate) fn decided(&self, approval: Approval) {
        // Set once: a call is held once.
        let _ = self.approval.set(approval);
    }

    /// How long the call waited for a person.
    fn held(&self) -> Duration {
        self.approval.get().map_or(Duration::ZERO, |approval| approval.held)
    }

    /// What claims `key` for this call.
    pub(crate) fn claim(&self, key: Arc<str>, fingerprint: [u8; 32]) -> Claim {
        Claim {
            id: self.start.id,
            caller: self.start.caller.clone(),
            key,
            fingerprint,
            within: self.config.idempotency.0,
        }
    }

    /// Where the call is recorded.
    pub(crate) fn recorder(&self) -> &Arc<dyn Recorder> {
        &self.recorder
    }

    /// How calls are run.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Refuses what may change the world while it cannot be written down (SPEC RC-1).
    pub(crate) fn permits(&mut self, tool: &RegisteredTool) -> Result<(), ToolError> {
        match self.unwritten.take() {
            Some(cause) if !tool.spec().is_read_only() => {
                let error = ToolError::unreachable(tool.name(), "the record store");
                Err(error.caused_by(cause))
            }
            Some(cause) => {
                log::unrecorded(&self.start.tool, &cause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The narrowest time limit: the call's, the tool's or server's, the executor's.
    pub(crate) fn timeout(&self, cx: &CallContext) -> Duration {
        let own = || self.tool.as_ref()?.spec().settings.timeout;
        cx.timeout.or_else(own).unwrap_or(self.config.timeout.0)
    }

    /// How many characters of the result are shown: the tool's or server's limit, or the executor's; all, where the caller
    /// wants it whole.
    pub(crate) fn max_output(&self) -> usize {
        if self.whole {
            return usize::MAX;
        }
        let own = || self.tool.as_ref()?.spec().settings.max_output;
        own().unwrap_or(usize::try_from(self.config.max_output.0).unwrap_or(usize::MAX))
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.start.tool
    }

    pub(crate) fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    pub(crate) fn id(&self) -> CallId {
        self.start.id
    }

    pub(crate) fn server(&self) -> Option<&Arc<str>> {
        self.tool.as_ref()?.spec().server()
    }

    /// What the tool's own work is part of: the call's span, or else the caller's.
    pub(crate) fn trace(&self) -> Option<Arc<TraceContext>> {
        match self.recorder.tracer() {
            Some(tracer) => Some(tracer.place(self.start.id, self.trace.as_deref())),
            None => self.trace.clone(),
        }
    }

    pub(crate) fn started(&self) -> Instant {
        self.marks.started
    }

    /// When the call's time began: what a person took to allow it is not the tool's, unless the caller set the limit.
    pub(crate) fn runs_from(&self, cx: &CallContext) -> Instant {
        let held = if cx.timeout.is_none() { self.held() } else { Duration::ZERO };
        self.marks.started + held
    }

    pub(crate) fn start(&self) -> &Arc<CallStart> {
        &self.start
    }

    /// Writes down and logs how the call ended.
    pub(crate) async fn close(mut self, result: &ToolResult) {
        self.closed = true;
        if let Closing::Soon(written) = self.finish(Some(result)) {
            written.await;
        }
    }

    fn finish(&self, result: Option<&ToolResult>) -> Closing<'_> {
        let error_kind = result.map_or(Some(ErrorKind::Cancelled), ToolResult::error_kind);
        let duration = result.map_or_else(|| self.marks.started.elapsed(), |result| result.elapsed);
        // A person who takes their time does not make the tool slow.
        let slow = self.config.slow_call.0 + self.held();
        let redacted = &Redacted::of(result);
        log::ended(&self.start, error_kind, duration, slow, result, redacted);
        self.recorder.close(CallEnd {
            start: &self.start,
            tool: self.tool.as_ref().map(|tool| tool.name()),
            server: self.server(),
            spec: self.tool.as_ref().map(|tool| tool.spec()),
            trace: self.trace.as_deref(),
            error_kind,
            duration,
            stages: self.marks.stages(),
            approval: self.approval.get(),
            result,
            redacted,
        })
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.closed {
            self.finish(None);
        }
    }
}
