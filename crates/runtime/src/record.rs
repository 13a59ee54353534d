//! One record per call: opened before anything runs, closed even if the caller walks away.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, CallId, ErrorKind, ToolCall, ToolError, ToolResult,
};
use tokio::time::Instant;

use crate::{config::Config, log, redact, tools::RegisteredTool};

/// Keeps records of calls.
pub trait Recorder: Send + Sync {
    /// Writes down that a call is about to run; what it returns says when that is safe.
    fn open(&self, start: Arc<CallStart>) -> Opening<'_>;

    /// Writes down how it ended. Must not block.
    fn close(&self, end: CallEnd<'_>);

    /// The latest calls, newest first, those still running included.
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>>;
}

/// Whether a record could be opened: known at once, or when it has been written.
pub enum Opening<'a> {
    /// Known.
    Now(Result<(), BoxError>),
    /// Still being written.
    Later(BoxFuture<'a, Result<(), BoxError>>),
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
    /// When it began.
    pub started: SystemTime,
}

/// What is known of a call when it has ended.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// The id of the execution.
    pub id: CallId,
    /// The server that the tool belongs to.
    pub server: Option<&'a Arc<str>>,
    /// The kind of failure, or none.
    pub error_kind: Option<ErrorKind>,
    /// How long it took.
    pub duration: Duration,
    /// What came of it; none where the caller walked away.
    pub result: Option<&'a ToolResult>,
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
    started: Instant,
    tool: Option<Arc<RegisteredTool>>,
    /// Why the record could not be opened, where it could not.
    unwritten: Option<BoxError>,
    closed: bool,
}

impl CallRecord {
    pub(crate) async fn open(
        recorder: &Arc<dyn Recorder>,
        config: &Arc<Config>,
        call: ToolCall,
        cx: &CallContext,
    ) -> (Self, Map<String, Value>) {
        let now = SystemTime::now();
        let start = Arc::new(CallStart {
            id: CallId::generate_at(now),
            tool: call.name.into(),
            arguments: redact::object(&call.args),
            caller: cx.caller.clone(),
            started: now,
        });
        let mut record = Self {
            recorder: recorder.clone(),
            config: config.clone(),
            tool_call_id: call.id,
            start: start.clone(),
            started: Instant::now(),
            tool: None,
            unwritten: None,
            closed: false,
        };
        let opened = match recorder.open(start) {
            Opening::Now(opened) => opened,
            Opening::Later(opened) => opened.await,
        };
        record.unwritten = opened.err();
        (record, call.args)
    }

    /// Notes the tool that the call's name found.
    pub(crate) fn found(&mut self, tool: &Arc<RegisteredTool>) {
        self.tool = Some(tool.clone());
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

    /// How many characters of the result are shown: the tool's or server's limit, or the executor's.
    pub(crate) fn max_output(&self) -> usize {
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

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Writes down and logs how the call ended.
    pub(crate) fn close(mut self, result: &ToolResult) {
        self.finish(Some(result));
    }

    fn finish(&mut self, result: Option<&ToolResult>) {
        self.closed = true;
        let error_kind = result.map_or(Some(ErrorKind::Cancelled), ToolResult::error_kind);
        let duration = result.map_or_else(|| self.started.elapsed(), |result| result.elapsed);
        let slow = self.config.slow_call.0;
        log::ended(&self.start, error_kind, duration, slow, result);
        self.recorder.close(CallEnd {
            id: self.start.id,
            server: self.server(),
            error_kind,
            duration,
            result,
        });
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.closed {
            self.finish(None);
        }
    }
}

/// Keeps the latest records in memory.
pub struct MemoryRecorder {
    most: usize,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// By id; few run at once, and ids grow: a tree is quicker than hashing.
    running: BTreeMap<CallId, Arc<CallStart>>,
    ended: VecDeque<RecordedCall>,
}

impl MemoryRecorder {
    /// Keeps as many ended calls as `most`.
    pub fn new(most: usize) -> Self {
        Self { most, calls: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryRecorder {
    fn default() -> Self {
        Self::new(1000)
    }
}

impl Recorder for MemoryRecorder {
    fn open(&self, start: Arc<CallStart>) -> Opening<'_> {
        self.lock().running.insert(start.id, start);
        Opening::Now(Ok(()))
    }

    fn close(&self, end: CallEnd<'_>) {
        let mut calls = self.lock();
        let Some(start) = calls.running.remove(&end.id) else {
            return;
        };
        if calls.ended.len() >= self.most {
            calls.ended.pop_front();
        }
        calls.ended.push_back(RecordedCall {
            start,
            server: end.server.cloned(),
            end: Some((end.error_kind, end.duration)),
        });
    }

    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        let calls = self.lock();
        let running = calls.running.values().map(|start| RecordedCall {
            start: start.clone(),
            server: None,
            end: None,
        });
        let mut recent: Vec<_> = running.chain(calls.ended.iter().cloned()).collect();
        recent.sort_by_key(|call| std::cmp::Reverse(call.start.id));
        recent.truncate(most);
        Box::pin(std::future::ready(Ok(recent)))
    }
}
