//! The feed: publishes the start and the end of every call as events, and counts them.

mod cluster;
mod memory;
mod messages;
mod turns;

use std::sync::Arc;

use serde::Serialize;
use switchboard_audit::SharedRecords;
use switchboard_runtime::{
    Approval, CallEnd, CallHeld, CallNames, CallObserver, CallStart, ModelTurn,
};

use crate::{Metrics, questions::QuestionEvent};
use cluster::ClusterEvents;
use memory::Memory;
use messages::{CallDecidedMessage, CallEndedMessage, CallHeldMessage, CallStartedMessage};
use turns::{LatestTurns, TurnEndedMessage};

pub(crate) use memory::EventSubscription;
pub(crate) use turns::{MOST_TURNS, RecordedTurn, ShownTurn};

/// Observes calls, counts them and publishes events.
pub struct Feed {
    metrics: Arc<Metrics>,
    memory: Memory,
    turns: LatestTurns,
    /// The events of all nodes.
    cluster: ClusterEvents,
}

/// The start or the end of a call, a decision about it, or a model's turn.
#[derive(Clone, Debug)]
pub(crate) struct FeedEvent {
    /// The tool's name, as it was called; `None` for a model's turn.
    pub tool: Option<Arc<str>>,
    /// The name that the profile of the call has for it, if that differs.
    pub shown_as: Option<Arc<str>>,
    /// The profile through which it was called.
    pub profile: Option<Arc<str>>,
    /// The caller.
    pub caller: Option<Arc<str>>,
    /// Whether it is about a held call.
    pub is_held: bool,
    /// Whether only the caller receives it; callers that watch everybody's calls do not.
    pub is_private: bool,
    /// The whole event as JSON.
    pub json: String,
    /// Its sequence number since the start.
    pub number: u64,
}

impl FeedEvent {
    /// Returns the names of the call; `None` for a model's turn.
    pub(crate) fn names(&self) -> Option<CallNames<'_>> {
        Some(CallNames {
            tool: self.tool.as_deref()?,
            shown_as: self.shown_as.as_deref(),
            profile: self.profile.as_deref(),
            caller: self.caller.as_deref(),
        })
    }

    /// Whether it is the start or the end of a call.
    fn is_call(&self) -> bool {
        self.tool.is_some() && !self.is_held && !self.is_private
    }
}

impl Feed {
    /// Creates a feed that counts in `metrics`.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            memory: Memory::default(),
            turns: LatestTurns::default(),
            cluster: ClusterEvents::default(),
        }
    }

    /// Subscribes to events; those since the event with the id `last` come first.
    pub(crate) fn watch(&self, last: Option<&str>) -> EventSubscription {
        self.memory.watch(last)
    }

    /// As [`watch`](Self::watch), with the calls of all nodes.
    pub(crate) fn watch_cluster(
        self: &Arc<Self>,
        records: &Arc<dyn SharedRecords>,
        last: Option<&str>,
    ) -> EventSubscription {
        ClusterEvents::watch(self, records, last)
    }

    /// Returns the id of an event, by which a client that reconnects says what it saw last.
    pub(crate) fn name(&self, event: &FeedEvent, is_of_cluster: bool) -> String {
        match is_of_cluster {
            true => self.cluster.memory.name(event),
            false => self.memory.name(event),
        }
    }

    /// Returns the latest turns of models, oldest first.
    pub(crate) fn turns(&self) -> Vec<Arc<ShownTurn>> {
        self.turns.all()
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Publishes an event; without subscribers it is not even created.
    fn tell<T: Serialize>(&self, start: &CallStart, event: impl FnOnce() -> T) {
        self.add(&start.tool, start, false, event);
    }

    /// Like [`tell`](Self::tell), for a held call.
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
            let (tool, caller) = (Some(tool.clone()), start.caller.clone());
            let (shown_as, profile) = (start.shown_as.clone(), start.profile.clone());
            let event = FeedEvent {
                tool,
                shown_as,
                profile,
                caller,
                is_held,
                is_private: false,
                json,
                number: 0,
            };
            self.memory.add(event);
        }
    }

    /// Publishes a server's question to the caller only.
    pub(crate) fn tell_question(&self, caller: Option<&Arc<str>>, told: &QuestionEvent) {
        if self.memory.is_wanted() {
            let json = serde_json::to_string(told).unwrap_or_default();
            let (tool, caller) = (Some(told.tool.as_str().into()), caller.cloned());
            self.memory.add(FeedEvent {
                tool,
                shown_as: None,
                profile: None,
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

    fn turn_ended(&self, turn: &ModelTurn<'_>) {
        let turn = self.turns.add(turn);
        if self.memory.is_wanted() {
            let json = serde_json::to_string(&TurnEndedMessage::new(&turn)).unwrap_or_default();
            let caller = turn.caller.clone();
            let (is_held, is_private) = (false, false);
            self.memory.add(FeedEvent {
                tool: None,
                shown_as: None,
                profile: None,
                caller,
                is_held,
                is_private,
                json,
                number: 0,
            });
        }
    }

    /// Subscribers may request the record as soon as they see the end of a call.
    fn reads_records(&self) -> bool {
        self.memory.is_wanted()
    }
}

/// Formats a time as records do.
pub(crate) fn timestamp(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
