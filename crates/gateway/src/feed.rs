//! What happens, as it happens: every call's beginning and end, for those who watch, and counted.

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_runtime::{
    Approval, CallEnd, CallHeld, CallStart, Claim, Claimed, Opening, RecordedCall, Recorder,
    Tracer, redact,
};
use switchboard_toolcall::{BoxError, BoxFuture, ErrorKind, ToolResult};
use tokio::sync::broadcast;

use crate::Metrics;

/// How far those who watch may fall behind before they miss something.
const BEHIND: usize = 4096;

/// A recorder that tells those who watch, and leaves the recording to another.
pub struct Feed {
    recorder: Arc<dyn Recorder>,
    metrics: Arc<Metrics>,
    events: broadcast::Sender<Arc<Event>>,
}

/// The beginning or the end of a call, or what a person has to do with it.
#[derive(Debug)]
pub struct Event {
    /// The tool's name, as it was asked for.
    pub tool: Arc<str>,
    /// The whole event as JSON.
    pub json: String,
}

impl Feed {
    /// Tells of the calls that `recorder` records.
    pub fn new(recorder: Arc<dyn Recorder>, metrics: Arc<Metrics>) -> Self {
        Self { recorder, metrics, events: broadcast::Sender::new(BEHIND) }
    }

    /// What happens from now on.
    pub fn watch(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// The counts.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Counts a record that could not be opened.
    fn counted(&self, opened: Result<(), BoxError>) -> Result<(), BoxError> {
        opened.inspect_err(|_| self.metrics.was_not_recorded())
    }

    fn tell(&self, tool: &Arc<str>, event: impl FnOnce() -> Value) {
        if self.events.receiver_count() > 0 {
            let event = Event { tool: tool.clone(), json: event().to_string() };
            // Nobody may be left; then nobody minds.
            let _ = self.events.send(Arc::new(event));
        }
    }
}

impl Recorder for Feed {
    fn open(&self, start: Arc<CallStart>) -> Opening<'_> {
        self.metrics.began();
        self.tell(&start.tool, || Value::Object(head("call_started", &start)));
        match self.recorder.open(start) {
            Opening::Now(opened) => Opening::Now(self.counted(opened)),
            Opening::Later(opened) => {
                Opening::Later(Box::pin(async { self.counted(opened.await) }))
            }
        }
    }

    fn close(&self, end: CallEnd<'_>) {
        self.metrics.ended(&end);
        self.recorder.close(end);
        self.tell(&end.start.tool, || ended(&end));
    }

    fn held(&self, held: &CallHeld<'_>) {
        self.metrics.approvals.held();
        self.recorder.held(held);
        self.tell(held.tool, || Value::Object(about("held", held)));
    }

    fn decided(&self, held: &CallHeld<'_>, approval: &Approval) {
        self.metrics.approvals.decided(approval);
        self.recorder.decided(held, approval);
        self.tell(held.tool, || decided(held, approval));
    }

    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        self.recorder.recent(most)
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Claimed, BoxError>> {
        self.recorder.claim(claim)
    }

    fn release(&self, claim: &Claim) {
        self.recorder.release(claim);
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        self.recorder.tracer()
    }
}

fn head(kind: &str, start: &CallStart) -> Map<String, Value> {
    let arguments = RawValue::from_string(start.arguments.clone());
    let arguments = arguments.ok().and_then(|raw| serde_json::to_value(raw).ok());
    let mut event = Map::new();
    event.insert("type".to_owned(), kind.into());
    event.insert("id".to_owned(), start.id.to_string().into());
    event.insert("tool".to_owned(), (*start.tool).into());
    event.insert("arguments".to_owned(), arguments.unwrap_or_default());
    event.insert("started".to_owned(), timestamp(start.started).into());
    if let Some(caller) = &start.caller {
        event.insert("caller".to_owned(), (**caller).into());
    }
    if let Some(conversation) = &start.conversation {
        event.insert("conversation".to_owned(), (**conversation).into());
    }
    event
}

fn ended(end: &CallEnd<'_>) -> Value {
    let mut event = head("call_ended", end.start);
    let stages = end.stages;
    let ms = |stage: std::time::Duration| stage.as_nanos() as f64 / 1e6;
    event.insert("server".to_owned(), end.server.map(|server| (**server).to_owned()).into());
    event.insert("outcome".to_owned(), end.error_kind.map_or("ok", ErrorKind::code).into());
    event.insert("error_kind".to_owned(), end.error_kind.map(ErrorKind::code).into());
    event.insert("duration_ms".to_owned(), ms(end.duration).into());
    let stages = json!({
        "open": ms(stages.open), "lookup": ms(stages.lookup), "check": ms(stages.check),
        "wait": ms(stages.wait), "run": ms(stages.run), "shape": ms(stages.shape),
    });
    event.insert("stages".to_owned(), stages);
    if let Some(approval) = end.approval {
        event.insert("approval".to_owned(), json!(approval));
    }
    if let Some(text) = end.result.map(ToolResult::text) {
        let shown: String = redact::text(&text).chars().take(500).collect();
        event.insert("result".to_owned(), shown.into());
    }
    Value::Object(event)
}

/// A held call: `id` is the approval's.
fn about(kind: &str, held: &CallHeld<'_>) -> Map<String, Value> {
    let mut event = head(kind, held.start);
    event.insert("id".to_owned(), held.id.into());
    event.insert("call_id".to_owned(), held.start.id.to_string().into());
    event.insert("tool".to_owned(), (**held.tool).into());
    event.insert("reason".to_owned(), held.rule.into());
    event.insert("expires".to_owned(), timestamp(held.expires).into());
    event
}

fn decided(held: &CallHeld<'_>, approval: &Approval) -> Value {
    let mut event = about("decided", held);
    event.insert("decision".to_owned(), approval.decision.code().into());
    event.insert("decided_by".to_owned(), approval.by.clone().into());
    event.insert("decision_reason".to_owned(), approval.reason.clone().into());
    Value::Object(event)
}

/// The time as records write it.
pub(crate) fn timestamp(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
