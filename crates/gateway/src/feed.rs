//! What happens, as it happens: every call's beginning and end, for those who watch, and counted.

mod memory;
mod messages;

use std::sync::Arc;

use serde::Serialize;
use switchboard_runtime::{Approval, CallEnd, CallHeld, CallObserver, CallStart};

use crate::{Metrics, questions::QuestionEvent};
use memory::Memory;
use messages::{CallDecidedMessage, CallEndedMessage, CallHeldMessage, CallStartedMessage};

pub(crate) use memory::EventSubscription;

/// Observes calls, counts them and tells those who watch.
pub struct Feed {
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
    /// Counts in `metrics`.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, memory: Memory::default() }
    }

    /// What happens from now on; before that, what happened since the event that `last` names.
    pub(crate) fn watch(&self, last: Option<&str>) -> EventSubscription {
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
    pub(crate) fn tell_question(&self, caller: Option<&Arc<str>>, told: &QuestionEvent) {
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
}

impl CallObserver for Feed {
    fn started(&self, start: &CallStart) {
        self.metrics.began();
        self.tell(start, || CallStartedMessage::new(start));
    }

    fn unrecorded(&self, _: &CallStart) {
        self.metrics.was_not_recorded();
    }

    fn ended(&self, end: &CallEnd<'_>) {
        self.metrics.ended(end);
        self.tell(end.start, || CallEndedMessage::new(end));
    }

    fn held(&self, held: &CallHeld<'_>) {
        self.metrics.approvals.held();
        self.tell_held(held, || CallHeldMessage::new(held));
    }

    fn decided(&self, held: &CallHeld<'_>, approval: &Approval) {
        self.metrics.approvals.decided(approval);
        self.tell_held(held, || CallDecidedMessage::new(held, approval));
    }

    /// Who is told of an end may ask for the record at once.
    fn reads_records(&self) -> bool {
        self.memory.is_wanted()
    }
}

/// The time as records write it.
pub(crate) fn timestamp(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
