//! One record per call: opened before anything runs, closed even if the caller drops the call.

mod history;
mod idempotency;
mod memory;
mod model_turn;
mod observer;
mod recorder;
mod redacted;
mod sinks;
mod stages;
mod tracer;
mod failed_writes;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value, json};
use switchboard_toolcall::{
    BoxError, CallContext, CallId, CallKey, ErrorKind, ReuseReason, ToolCall, ToolError,
    ToolResult, TraceContext,
};
use tokio::time::Instant;

use crate::{
    approval::Approval,
    artifacts::ArtifactSource,
    config::Config,
    dispatch::{self, AnswerTime},
    log, redact,
    tools::{RegisteredTool, ToolManager},
};

pub(crate) use failed_writes::store_unreachable;
pub(crate) use history::NoHistory;
pub use history::{CallHistory, RecordedCall};
pub use idempotency::{Claim, ClaimOutcome, IdempotencyStore};
pub use memory::MemoryRecorder;
pub use model_turn::ModelTurn;
pub use observer::CallObserver;
pub use recorder::{CallEnd, CallStart, RecordClose, RecordOpen, Recorder};
pub use redacted::RedactedResult;
pub(crate) use sinks::CallSinks;
use stages::StageMarks;
pub use stages::Stages;
pub use tracer::{Span, SpanOperation, Tracer};

/// How many bytes of a tool name are accepted; real names are far shorter.
const LONGEST_NAME: usize = 1024;

/// How many bytes of arguments are recorded of a call that cannot run.
const LONGEST_REFUSED: usize = 16 << 10;

/// Returns the arguments as they are recorded. Of a call that will be refused (unknown tool, invalid arguments) only a
/// part is recorded, so that nobody fills the disk with calls that never run.
fn bounded_arguments(tools: &ToolManager, call: &ToolCall, cx: &CallContext) -> String {
    let arguments = redact::object(&call.args);
    if arguments.len() <= LONGEST_REFUSED || tools.may_run(call, &cx.visibility) {
        return arguments;
    }
    json!({"[omitted]": format!("{} bytes", arguments.len())}).to_string()
}

/// Returns the name as it is recorded, and the error if it is too long: a record must not hold megabytes that a caller
/// chose.
fn bounded_name(mut name: String) -> (String, Option<ToolError>) {
    if name.len() <= LONGEST_NAME {
        return (name, None);
    }
    let length = name.len();
    let end = (0..=64).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.truncate(end);
    name.push('…');
    let text = format!("Tool '{name}' not found");
    let hint = format!("A tool's name has at most {LONGEST_NAME} bytes; this one has {length}.");
    (name, Some(ToolError::new(ErrorKind::NotFound, text).with_hint(hint)))
}

/// The open record of a running call; closes itself as cancelled when dropped.
pub(crate) struct CallRecord {
    sinks: Arc<CallSinks>,
    config: Arc<Config>,
    tool_call_id: String,
    start: Arc<CallStart>,
    trace: Option<Arc<TraceContext>>,
    /// Whether the caller wants the result without truncation.
    whole: bool,
    /// The limit of the server that the name belongs to, known before the tool is.
    server_timeout: OnceLock<Duration>,
    marks: StageMarks,
    tool: Option<Arc<RegisteredTool>>,
    /// Why the record could not be opened.
    open_error: Option<BoxError>,
    /// Why the call ends before the tool is looked up: its name is too long, or its deadline passed.
    cut_short: Option<ToolError>,
    reused: OnceLock<ReuseReason>,
    approval: OnceLock<Approval>,
    /// Measures how long the tool's questions were unanswered; unset if it cannot ask any.
    answers: OnceLock<Arc<AnswerTime>>,
    closed: bool,
}

impl CallRecord {
    pub(crate) async fn open(
        sinks: &Arc<CallSinks>,
        tools: &ToolManager,
        config: Arc<Config>,
        call: ToolCall,
        cx: &CallContext,
    ) -> (Self, Map<String, Value>) {
        let marks = StageMarks::since(cx.asked);
        let now = SystemTime::now();
        let asked = now.checked_sub(marks.started.elapsed()).unwrap_or(now);
        let arguments = bounded_arguments(tools, &call, cx);
        let (name, too_long) = bounded_name(call.name);
        let original = cx.visibility.rules().and_then(|rules| rules.original(&name).map(Arc::from));
        let name: Arc<str> = name.into();
        let start = Arc::new(CallStart {
            id: CallId::generate_at(asked),
            shown_as: original.as_ref().map(|_| name.clone()),
            tool: original.unwrap_or(name),
            profile: cx.visibility.profile().map(|profile| profile.name().clone()),
            arguments,
            caller: cx.caller.clone(),
            client: cx.client.clone(),
            conversation: cx.conversation.clone(),
            run: cx.call_key.as_deref().and_then(CallKey::parse).map(|key| key.turn),
            turn_sha256: cx.turn_sha256.clone(),
            started: asked,
        });
        let mut record = Self {
            sinks: sinks.clone(),
            config,
            tool_call_id: call.id,
            start: start.clone(),
            trace: cx.trace.clone(),
            whole: cx.whole,
            server_timeout: OnceLock::new(),
            marks,
            tool: None,
            open_error: None,
            cut_short: too_long,
            reused: OnceLock::new(),
            approval: OnceLock::new(),
            answers: OnceLock::new(),
            closed: false,
        };
        sinks.started(&start);
        let opened = match sinks.recorder.open(start) {
            RecordOpen::Done(opened) => Ok(opened),
            RecordOpen::Batched(opened) => Ok(opened.await),
            // A store that never responds must not delay the call beyond its deadline.
            RecordOpen::Pending(opened) => {
                dispatch::within(async { Ok(opened.await) }, cx, &record).await
            }
        };
        if let Ok(Err(_)) = &opened {
            sinks.observe(|observer| observer.unrecorded(&record.start));
        }
        match opened {
            Ok(opened) => record.open_error = opened.err(),
            Err(error) => record.cut_short = Some(error),
        }
        record.marks.opened = Some(Instant::now());
        (record, call.args)
    }

    /// Fails if the name is too long or the deadline passed before the record was open.
    pub(crate) fn opened(&mut self) -> Result<(), ToolError> {
        self.cut_short.take().map_or(Ok(()), Err)
    }

    /// Sets the tool that was found.
    pub(crate) fn found(&mut self, tool: &Arc<RegisteredTool>) {
        self.tool = Some(tool.clone());
        self.marks.found = Some(Instant::now());
    }

    /// Marks the end of the checks.
    pub(crate) fn checked(&mut self) {
        self.marks.checked = Some(Instant::now());
    }

    /// Marks the start of the tool.
    pub(crate) fn dispatched(&self) {
        // Set once: a call is dispatched once.
        let _ = self.marks.dispatched.set(Instant::now());
    }

    /// Returns whether the tool was started.
    pub(crate) fn was_dispatched(&self) -> bool {
        self.marks.dispatched.get().is_some()
    }

    /// Marks the outcome.
    pub(crate) fn ended(&mut self) {
        self.marks.ended = Some(Instant::now());
    }

    /// Sets where the result was reused from.
    pub(crate) fn reuses(&self, reused: ReuseReason) {
        let _ = self.reused.set(reused);
    }

    /// Returns where the result was reused from, if the tool did not run.
    pub(crate) fn reused(&self) -> Option<ReuseReason> {
        self.reused.get().copied()
    }

    /// Sets the decision about the held call.
    pub(crate) fn decided(&self, approval: Approval) {
        // Set once: a call is held once.
        let _ = self.approval.set(approval);
    }

    /// Sets what measures how long the tool's questions are unanswered.
    pub(crate) fn may_be_asked(&self, answers: &Arc<AnswerTime>) {
        // Set once: a call is dispatched once.
        let _ = self.answers.set(answers.clone());
    }

    /// Returns how long people took: to decide about the call, and to answer its tool's questions (EX-7).
    pub(crate) fn waited(&self) -> Duration {
        self.held_time() + self.question_time()
    }

    /// Returns how long a person took to decide about the call.
    fn held_time(&self) -> Duration {
        self.approval.get().map_or(Duration::ZERO, |approval| approval.held)
    }

    /// Returns how long the tool's questions were unanswered.
    fn question_time(&self) -> Duration {
        self.answers.get().map_or(Duration::ZERO, |answers| answers.total())
    }

    /// Returns the claim of `key` for this call.
    pub(crate) fn claim(&self, key: Arc<str>, fingerprint: [u8; 32]) -> Claim {
        Claim {
            id: self.start.id,
            caller: self.start.caller.clone(),
            key,
            fingerprint,
            within: self.config.idempotency.0,
        }
    }

    /// Returns where the call is recorded and observed.
    pub(crate) fn sinks(&self) -> &CallSinks {
        &self.sinks
    }

    /// Returns the executor's settings.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Refuses a tool that may have side effects if the call could not be recorded (SPEC RC-1).
    pub(crate) fn permits(
        &mut self,
        tool: &RegisteredTool,
        cx: &CallContext,
    ) -> Result<(), ToolError> {
        match self.open_error.take() {
            Some(cause) if !tool.spec().is_read_only() => {
                Err(store_unreachable(tool.name(), cause, cx))
            }
            Some(cause) => {
                log::unrecorded(&self.start.tool, &cause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Sets how long the call may take by the settings of a server that is not connected yet.
    pub(crate) fn expects(&self, timeout: Duration) {
        // Set once: a name is looked up once.
        let _ = self.server_timeout.set(timeout);
    }

    /// Returns the narrowest timeout: the call's, the tool's or server's, the executor's.
    pub(crate) fn timeout(&self, cx: &CallContext) -> Duration {
        let own = || match &self.tool {
            Some(tool) => tool.spec().settings.timeout,
            None => self.server_timeout.get().copied(),
        };
        cx.timeout.or_else(own).unwrap_or(self.config.timeout.0)
    }

    /// Returns how many characters of the result are shown: the tool's or server's limit, or the executor's; all, if
    /// the caller wants it whole.
    pub(crate) fn max_output(&self) -> usize {
        if self.whole {
            return usize::MAX;
        }
        let own = || self.tool.as_ref()?.spec().settings.max_output;
        own().unwrap_or(usize::try_from(self.config.max_output.0).unwrap_or(usize::MAX))
    }

    /// Returns the name that the caller used.
    pub(crate) fn name(&self) -> &Arc<str> {
        self.start.shown_as.as_ref().unwrap_or(&self.start.tool)
    }

    pub(crate) fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    pub(crate) fn id(&self) -> CallId {
        self.start.id
    }

    /// Returns what decides who may read the call's artifacts.
    pub(crate) fn source(&self) -> ArtifactSource {
        let found = self.tool.as_ref().map(|tool| tool.original().name());
        ArtifactSource {
            tool: found.unwrap_or(&self.start.tool).clone(),
            caller: self.start.caller.clone(),
        }
    }

    pub(crate) fn server(&self) -> Option<&Arc<str>> {
        self.tool.as_ref()?.spec().server()
    }

    /// Returns the parent of the tool's own spans: the call's span, or the caller's.
    pub(crate) fn trace(&self) -> Option<Arc<TraceContext>> {
        self.sinks.trace(self.start.id, self.trace.as_ref())
    }

    /// Returns when the call was made.
    pub(crate) fn started(&self) -> Instant {
        self.marks.started
    }

    /// Returns how long the call has taken so far, without the time that people took (EX-7).
    pub(crate) fn elapsed(&self) -> Duration {
        self.marks.started.elapsed().saturating_sub(self.waited())
    }

    /// Returns when the timeout started: after an approval, unless the caller set the limit.
    pub(crate) fn runs_from(&self, cx: &CallContext) -> Instant {
        let held = if cx.timeout.is_none() { self.held_time() } else { Duration::ZERO };
        self.marks.started + held
    }

    pub(crate) fn start(&self) -> &Arc<CallStart> {
        &self.start
    }

    /// Records and logs how the call ended.
    pub(crate) async fn close(mut self, result: &ToolResult) {
        self.closed = true;
        if let RecordClose::Batched(written) = self.finish(Some(result)) {
            written.await;
        }
    }

    fn finish(&self, result: Option<&ToolResult>) -> RecordClose<'_> {
        let error_kind = result.map_or(Some(ErrorKind::Cancelled), ToolResult::error_kind);
        let duration = result.map_or_else(|| self.elapsed(), |result| result.elapsed);
        let stages = self.marks.stages(self.held_time(), self.question_time());
        // Until the tool is found its server connects, which is logged separately.
        let since_found = duration.saturating_sub(stages.open + stages.lookup);
        let is_slow = since_found > self.config.slow_call.0;
        let redacted = &RedactedResult::of(result);
        log::ended(&self.start, error_kind, duration, is_slow, result, redacted);
        self.sinks.close(CallEnd {
            start: &self.start,
            tool: self.tool.as_ref().map(|tool| tool.original().name()),
            server: self.server(),
            spec: self.tool.as_ref().map(|tool| tool.spec()),
            trace: self.trace.as_deref(),
            error_kind,
            duration,
            stages,
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
