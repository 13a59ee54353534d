//! What happens, as it happens: every call's beginning and end, for those who watch, and counted.

mod memory;
mod wording;

use std::sync::Arc;

use serde::Serialize;
use switchboard_runtime::{
    Approval, CallEnd, CallHeld, CallStart, Claim, Claimed, Closing, Opening, RecordedCall,
    Recorder, Tracer,
};
use switchboard_toolcall::{BoxError, BoxFuture};

use crate::{Metrics, questions::Told};
use memory::Memory;
use wording::{Begun, Decided, Ended, Held};

pub(crate) use memory::Watching;

/// A recorder that tells those who watch, and leaves the recording to another.
pub struct Feed {
    recorder: Arc<dyn Recorder>,
    metrics: Arc<Metrics>,
    memory: Memory,
}

/// The beginning or the end of a call, or what a person has to do with it.
#[derive(Debug)]
pub struct Event {
    /// The tool's name, as it was asked for.
    pub tool: Arc<str>,
    /// Who made the call.
    pub caller: Option<Arc<str>>,
    /// Whether it tells of a call that waits, or waited, for a person.
    pub is_held: bool,
    /// Whether only the caller receives it; callers that watch everybody's calls do not.
    pub is_private: bool,
    /// The whole event as JSON.
    pub json: String,
    /// Its place among all events since the start.
    pub number: u64,
}

impl Feed {
    /// Tells of the calls that `recorder` records.
    pub fn new(recorder: Arc<dyn Recorder>, metrics: Arc<Metrics>) -> Self {
        Self { recorder, metrics, memory: Memory::default() }
    }

    /// What happens from now on; before that, what happened since the event that `last` names.
    pub(crate) fn watch(&self, last: Option<&str>) -> Watching {
        self.memory.watch(last)
    }

    /// The name of an event, by which a watcher who comes back says what it saw last.
    pub(crate) fn name(&self, event: &Event) -> String {
        self.memory.name(event)
    }

    /// The counts.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Tells those who watch; where nobody does, the event is not even made.
    fn tell<T: Serialize>(&self, start: &CallStart, event: impl FnOnce() -> T) {
        self.add(&start.tool, start, false, event);
    }

    /// As [`tell`](Self::tell), of a call that waits, or waited, for a person.
    fn tell_held<T: Serialize>(&self, held: &CallHeld<'_>, event: impl FnOnce() -> T) {
        self.add(held.tool, held.start, true, event);
    }

    fn add<T: Serialize>(
        &self,
        tool: &Arc<str>,
        start: &CallStart,
        is_held: bool,
        event: impl FnOnce() -> T,
    ) {
        if self.memory.is_wanted() {
            let json = serde_json::to_string(&event()).unwrap_or_default();
            let (tool, caller) = (tool.clone(), start.caller.clone());
            let event = Event { tool, caller, is_held, is_private: false, json, number: 0 };
            self.memory.add(event);
        }
    }

    /// Tells who made a call, and nobody else, of a question that a server asks in the middle of it.
    pub(crate) fn tell_question(&self, caller: Option<&Arc<str>>, told: &Told) {
        if self.memory.is_wanted() {
            let json = serde_json::to_string(told).unwrap_or_default();
            let (tool, caller) = (told.tool.as_str().into(), caller.cloned());
            self.memory.add(Event {
                tool,
                caller,
                is_held: false,
                is_private: true,
                json,
                number: 0,
            });
        }
    }

    /// Counts a record that could not be opened.
    fn counted(&self, opened: Result<(), BoxError>) -> Result<(), BoxError> {
        opened.inspect_err(|_| self.metrics.was_not_recorded())
    }
}

impl Recorder for Feed {
    fn open(&self, start: Arc<CallStart>) -> Opening<'_> {
        self.metrics.began();
        self.tell(&start, || Begun::new(&start));
        match self.recorder.open(start) {
            Opening::Now(opened) => Opening::Now(self.counted(opened)),
            Opening::Soon(opened) => Opening::Soon(Box::pin(async { self.counted(opened.await) })),
            Opening::Later(opened) => {
                Opening::Later(Box::pin(async { self.counted(opened.await) }))
            }
        }
    }

    fn close(&self, end: CallEnd<'_>) -> Closing<'_> {
        self.metrics.ended(&end);
        let closing = self.recorder.close(end);
        if !self.memory.is_wanted() {
            return closing;
        }
        // Who is told of it may ask for the record at once, so it is written first.
        drop(closing);
        self.tell(end.start, || Ended::new(&end));
        Closing::Now
    }

    fn held(&self, held: &CallHeld<'_>) {
        self.metrics.approvals.held();
        self.recorder.held(held);
        self.tell_held(held, || Held::new(held));
    }

    fn decided(&self, held: &CallHeld<'_>, approval: &Approval) {
        self.metrics.approvals.decided(approval);
        self.recorder.decided(held, approval);
        self.tell_held(held, || Decided::new(held, approval));
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

/// The time as records write it.
pub(crate) fn timestamp(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
