//! Writes a run down as it goes, and decides what is left to do of one that was interrupted (SPEC RN-1, RN-2).

use std::{io, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use switchboard_models::{Message, ToolReply, Turn};
use switchboard_runtime::durable;
use switchboard_toolcall::time::unix_milliseconds;
use switchboard_toolcall::{
    BeforeClose, BeforeRun, CallContext, CallId, CallKey, ErrorKind, Principal, RunTurn, ToolResult,
};

use crate::{
    Agent, AgentEvent, AgentOutcome, Conversation, OfferedTools, RunLimits, RunSettings, RunStart,
    RunState, RunStore, StopCause,
    conversation::ReplySlots,
    fit::ConversationEdit,
    offered_tools::SearchOffer,
    plan::CallStep,
    run::AgentRun,
    runs::{BegunCall, LiveRun, RecordedTurn, RunLine},
};

/// For how long tools remember the keys that they honour, unless they say so: payment services keep them for a day.
const KEYS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

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
    /// The chat whose turns they are.
    pub chat: Option<String>,
    /// The id of the run, made by us: a client's word is no id, as it may be that of somebody else's run. A new one if unset.
    pub id: Option<CallId>,
    /// The request of a client that may repeat it, if it sent a key along (RN-2).
    pub request: Option<Value>,
    /// How long runs are kept.
    pub limits: RunLimits,
}

impl RunRecording {
    /// Begins the file of a run.
    pub(crate) async fn begin(
        &self,
        id: CallId,
        agent: &Agent,
        conversation: &Conversation,
        cx: &CallContext,
    ) -> io::Result<LiveRun> {
        let start = RunStart {
            id,
            model: self.model.clone(),
            started: Timestamp::now().to_string(),
            client: cx.client.as_deref().map(str::to_owned),
            caller: cx.caller.as_deref().map(str::to_owned),
            chat: self.chat.clone(),
            conversation: cx
                .conversation
                .as_deref()
                .filter(|named| **named != id.to_string())
                .map(str::to_owned),
            principal: cx.principal.key().filter(|_| cx.principal != Principal::Owner),
            profile: self.profile.clone(),
            settings: RunSettings {
                tools: self.tools.clone(),
                offered: Some(OfferedTools::of(agent)),
                max_iterations: Some(agent.config.max_iterations),
                max_tokens: agent.options.max_tokens,
                temperature: agent.options.temperature,
                schema: agent.options.answer.as_ref().map(|answer| answer.schema().clone()),
            },
            skip: agent.model.turns_taken(),
            price: agent.model.price(),
            request: self.request.clone(),
            messages: conversation.messages().to_vec(),
            salt: CallId::generate().to_string(),
        };
        let store = self.store.clone();
        unblocked(store.syncs(), move || LiveRun::create(&store, start)).await
    }
}

impl AgentRun<'_> {
    /// Records what the model said. It is written before its calls run, with the lines that say so, or at the end of the run.
    pub(crate) fn record_turn(&self, turn: &Turn) {
        let message = Message::Ai(turn.message.clone());
        let (stop, usage) = (turn.stop.clone(), turn.usage);
        self.record(|| RunLine::Turn {
            message,
            stop,
            usage,
            completed_at_ms: unix_milliseconds(),
        });
    }

    /// Records what the model was told of an answer that does not fit its schema: the last message. It is written with the next
    /// lines: without it, the same follows.
    pub(crate) fn record_reminder(&self, conversation: &Conversation) {
        if let Some(Message::User(said)) = conversation.messages().last() {
            self.record(|| RunLine::Reminder { text: said.content.clone() });
        }
    }

    /// Writes what is recorded and not yet written.
    pub(crate) fn write_record(&self) {
        if let Some(live) = &self.live {
            self.warn_of(live.flush());
        }
    }

    /// Records how a call ended that did not run. It is written with the next lines: without it, the same follows.
    pub(crate) fn record_reply(&self, position: usize, reply: &ToolReply, outcome: &str) {
        self.record(|| reply_line(position, reply.clone(), outcome, None));
    }

    /// Writes how the conversation was made shorter.
    pub(crate) fn record_edit(&self, edit: &ConversationEdit) {
        self.record(|| RunLine::ConversationEdit(edit.clone()));
        self.write_record();
    }

    /// Writes the reply to a call before its record is closed: a call that has ended for others has ended for the run.
    pub(crate) fn note_before_close(&self, position: usize, replies: &CallReplies) -> BeforeClose {
        let Some(live) = self.live.clone() else { return BeforeClose::default() };
        let replies = replies.clone();
        BeforeClose::to(move |result| {
            let reply = replies.of(result);
            let line = reply_line(position, reply, result.outcome_code(), Some(result));
            Box::pin(commit(live.clone(), line))
        })
    }

    /// Replaces the file by what people are shown.
    pub(crate) async fn end_recording(&self, outcome: &AgentOutcome) {
        let Some(live) = self.live.clone() else { return };
        let state = match (outcome.stop, &outcome.answer) {
            (StopCause::Cancelled, _) => RunState::Cancelled,
            (_, Some(_)) | (StopCause::Foreign, _) => RunState::Ended,
            _ => RunState::Failed,
        };
        let error = match (&outcome.error, outcome.stop) {
            (Some(error), _) => Some(error.to_string()),
            (None, _) if outcome.answer.is_some() => None,
            (None, stop) => stop.failure(outcome.invalid_answer.as_deref()),
        };
        let waits = live.end_waits();
        if let Err(cause) = unblocked(waits, move || live.end(state, error.as_deref())).await {
            let text = format!("the end of this run could not be recorded: {cause}");
            (self.events)(AgentEvent::Warning(text));
        }
        let recording = self.agent.recording.as_ref();
        let forgotten =
            recording.map(|recording| recording.store.apply_retention_if_due(recording.limits));
        if let Some(Err(cause)) = forgotten {
            tracing::warn!(%cause, "old runs could not be removed");
        }
    }

    /// Writes that a tool runs, just before it does.
    pub(crate) fn note_before_run(&self, name: &str, position: usize) -> BeforeRun {
        let Some(live) = self.live.clone() else { return BeforeRun::default() };
        let honours_keys = self.honours_keys(name);
        BeforeRun::to(move || {
            let line = RunLine::CallBegun { position, honours_keys, at: unix_milliseconds() };
            Box::pin(commit(live.clone(), line))
        })
    }

    /// Returns the key of a call: made of run, turn and position, the same if the call is run again.
    pub(crate) fn call_key(&self, position: usize) -> Option<Arc<str>> {
        let live = self.live.as_ref()?;
        let turn =
            RunTurn { run: live.id, turn: u32::try_from(self.turns.len()).unwrap_or(u32::MAX) };
        Some(CallKey { turn, position }.to_string().into())
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
            } else if let Some(begun) = recorded.begun_calls.get(&position)
                && !self.may_repeat(&step.call.name, begun)
            {
                let name = &step.call.name;
                let content = format!(
                    "Error: Tool '{name}' may or may not have run: its process ended first"
                );
                let reply = ToolReply { content, is_error: true, ..ToolReply::default() };
                self.record_reply(position, &reply, ErrorKind::OutcomeUnknown.code());
                slots.fill(position, reply);
            } else {
                left.push(step);
            }
        }
        left
    }

    /// Whether a call that may have run can be run again without a second effect. That its key was honoured where it ran is not
    /// enough: it must be so where it would run now, and the key not be forgotten there.
    fn may_repeat(&self, name: &str, begun: &BegunCall) -> bool {
        let Some(tool) = self.agent.tool(name) else { return false };
        let settings = &tool.spec().settings;
        let kept = settings.keys_kept.unwrap_or(KEYS_KEPT);
        // A tenth is left for what the call waits for before it reaches the tool.
        let kept = u64::try_from((kept / 10 * 9).as_millis()).unwrap_or(u64::MAX);
        let is_known = unix_milliseconds().checked_sub(begun.at).is_some_and(|age| age < kept);
        durable::may_repeat(tool.spec()) || begun.honours_keys && settings.honours_keys && is_known
    }

    fn honours_keys(&self, name: &str) -> bool {
        let tool = self.agent.tool(name);
        tool.is_some_and(|tool| tool.spec().settings.honours_keys)
    }

    fn record(&self, line: impl FnOnce() -> RunLine) {
        let Some(live) = &self.live else { return };
        self.warn_of(live.add(&line()));
    }

    fn warn_of(&self, written: io::Result<()>) {
        if let Err(cause) = written {
            let text = format!("this run can no longer be resumed: {cause}");
            (self.events)(AgentEvent::Warning(text));
        }
    }
}

/// Writes a line, with those that other calls of the turn add at the same time.
async fn commit(live: Arc<LiveRun>, line: RunLine) {
    let written = match live.add(&line) {
        Ok(()) => live.commit().await,
        failed => failed,
    };
    if let Err(cause) = written {
        tracing::warn!(run = %live.id, %cause, "a run can no longer be resumed");
    }
}

/// Does something with files, on another thread if it waits for the disk.
async fn unblocked<T: Send + 'static>(
    waits: bool,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match waits {
        true => tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?,
        false => work(),
    }
}

/// Makes the replies to a call of its result. Cheap to clone.
#[derive(Clone)]
pub(crate) struct CallReplies {
    /// Set if the call is a search, whose reply is shortened.
    pub(crate) search: Option<Agent>,
    /// What the model is told beside the result.
    pub(crate) nudge: Option<Arc<str>>,
}

impl CallReplies {
    /// Returns the reply that the model gets.
    pub(crate) fn of(&self, result: &ToolResult) -> ToolReply {
        let mut reply = ToolReply::from(result);
        if let Some(agent) = &self.search {
            SearchOffer::shorten(agent, result, &mut reply);
        }
        if let Some(nudge) = &self.nudge {
            reply.content = format!("{}\n\n{nudge}", reply.content);
        }
        reply
    }
}

fn reply_line(
    position: usize,
    reply: ToolReply,
    outcome: &str,
    result: Option<&ToolResult>,
) -> RunLine {
    let elapsed = result.map_or(Duration::ZERO, |result| result.elapsed);
    RunLine::Reply {
        position,
        reply: Message::Tool(reply),
        outcome: outcome.to_owned(),
        call_id: result.map(|result| result.call_id),
        completed_at_ms: unix_milliseconds(),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
    }
}
