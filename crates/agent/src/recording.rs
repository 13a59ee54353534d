//! Writes a run down as it goes, and decides what is left to do of one that was interrupted (SPEC RN-1, RN-2).

use std::{io, num::NonZeroU32, sync::Arc, time::Duration};

use jiff::Timestamp;
use switchboard_models::{Message, ToolReply, Turn};
use switchboard_toolcall::{BeforeRun, CallContext, CallId, ErrorKind};

use crate::{
    AgentEvent, AgentOutcome, Conversation, RunStart, RunState, RunStore, StopCause,
    conversation::ReplySlots,
    plan::CallStep,
    run::AgentRun,
    runs::{LiveRun, RecordedTurn, RunLine},
};

/// Where an agent's runs are written, and what is written of them beside the conversation.
#[derive(Clone, Debug)]
pub struct RunRecording {
    /// The store.
    pub store: RunStore,
    /// The model, as `-m` takes it.
    pub model: String,
    /// The patterns of `--tools`.
    pub tools: Vec<String>,
    /// The profile of `--profile`.
    pub profile: Option<String>,
    /// How often the model is asked at most, if the command line says so.
    pub max_iterations: Option<NonZeroU32>,
    /// The chat whose turns they are.
    pub chat: Option<String>,
    /// How long runs are kept.
    pub keep_for: Duration,
}

impl RunRecording {
    /// Begins the file of a run, whose id is the conversation's if that is one.
    pub(crate) fn begin(
        &self,
        skip: usize,
        conversation: &Conversation,
        cx: &CallContext,
    ) -> io::Result<LiveRun> {
        let id = cx.conversation.as_deref().and_then(CallId::parse);
        let start = RunStart {
            id: id.unwrap_or_else(CallId::generate),
            model: self.model.clone(),
            started: Timestamp::now().to_string(),
            client: cx.client.as_deref().map(str::to_owned),
            caller: cx.caller.as_deref().map(str::to_owned),
            chat: self.chat.clone(),
            tools: self.tools.clone(),
            profile: self.profile.clone(),
            max_iterations: self.max_iterations,
            skip,
            messages: conversation.messages().to_vec(),
        };
        LiveRun::create(&self.store, start)
    }
}

impl AgentRun<'_> {
    /// Writes what the model said, before its calls run.
    pub(crate) fn record_turn(&self, turn: &Turn) {
        let message = Message::Ai(turn.message.clone());
        self.record(|| RunLine::Turn { message, stop: turn.stop.clone(), usage: turn.usage });
    }

    /// Writes how a call ended.
    pub(crate) fn record_reply(
        &self,
        position: usize,
        reply: &ToolReply,
        outcome: &str,
        call_id: Option<CallId>,
    ) {
        self.record(|| RunLine::Reply {
            position,
            reply: Message::Tool(reply.clone()),
            outcome: outcome.to_owned(),
            call_id,
        });
    }

    /// Replaces the file by what people are shown.
    pub(crate) fn end_recording(&self, outcome: &AgentOutcome) {
        let Some(live) = &self.live else { return };
        let state = match (outcome.stop, &outcome.answer) {
            (StopCause::Cancelled, _) => RunState::Cancelled,
            (_, Some(_)) | (StopCause::Foreign, _) => RunState::Ended,
            _ => RunState::Failed,
        };
        let error = outcome.error.as_ref().map(ToString::to_string);
        if let Err(cause) = live.end(state, error.as_deref()) {
            let text = format!("the end of this run could not be recorded: {cause}");
            (self.events)(AgentEvent::Warning(text));
        }
        let recording = self.agent.recording.as_ref();
        let forgotten = recording.map(|recording| recording.store.forget(recording.keep_for));
        if let Some(Err(cause)) = forgotten {
            tracing::warn!(%cause, "old runs could not be removed");
        }
    }

    /// Writes that a tool runs, just before it does.
    pub(crate) fn note_before_run(&self, position: usize) -> BeforeRun {
        let Some(live) = self.live.clone() else { return BeforeRun::default() };
        BeforeRun::to(move || {
            if let Err(cause) = live.write(&RunLine::Began(position)) {
                tracing::warn!(run = %live.id, %cause, "a run can no longer be resumed");
            }
        })
    }

    /// Returns the key of a call: made of run, turn and position, the same if the call is run again.
    pub(crate) fn call_key(&self, position: usize) -> Option<Arc<str>> {
        let live = self.live.as_ref()?;
        Some(format!("{}.{}.{position}", live.id, self.turns.len()).into())
    }

    /// Fills the slots of calls that ended before the process did, or that may have; returns those that are to be run.
    pub(crate) fn left_of(
        &self,
        steps: Vec<CallStep>,
        recorded: &RecordedTurn,
        slots: &mut ReplySlots<'_>,
    ) -> Vec<CallStep> {
        let mut left = Vec::new();
        for step in steps {
            let position = step.position;
            if let Some(reply) = recorded.replies.get(&position) {
                slots.fill(position, reply.clone());
            } else if recorded.began.contains(&position) && !self.may_repeat(&step.call.name) {
                let name = &step.call.name;
                let content = format!(
                    "Error: Tool '{name}' may or may not have run: its process ended first"
                );
                let reply = ToolReply { content, is_error: true, ..ToolReply::default() };
                let outcome = ErrorKind::OutcomeUnknown.code();
                self.record_reply(position, &reply, outcome, None);
                slots.fill(position, reply);
            } else {
                left.push(step);
            }
        }
        left
    }

    /// Whether a call that may have run can be run again without a second effect.
    fn may_repeat(&self, name: &str) -> bool {
        let tool = self.agent.tool(name);
        tool.is_some_and(|tool| {
            let spec = tool.spec();
            spec.is_read_only() || spec.annotations.idempotent == Some(true)
        })
    }

    fn record(&self, line: impl FnOnce() -> RunLine) {
        let Some(live) = &self.live else { return };
        if let Err(cause) = live.write(&line()) {
            let text = format!("this run can no longer be resumed: {cause}");
            (self.events)(AgentEvent::Warning(text));
        }
    }
}
