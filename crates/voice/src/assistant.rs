//! The assistant: an agent with tools, a system prompt and a memory.

use std::{error::Error, iter, sync::Arc, time::Duration};

use switchboard_agent::{
    Agent, AgentEvent, AgentEvents, AgentOutcome, Conversation, RequestOptions, Resumable,
    StopCause,
};
use switchboard_models::{Message, Model};
use switchboard_toolcall::{BoxFuture, CallContext, CallId};
use tokio::sync::Mutex;

use crate::{Config, memory, speakable};

/// The model if the settings have none.
const HOUSEHOLD: &str = "You are the voice of a household. You hear what people say and act with the tools you have. \
    What you did and what you found out comes from tools; where one fails, say what failed.";
/// The system prompt that always applies.
const SPOKEN: &str = "Your answer is spoken aloud. Answer in one or two short sentences of plain words: no Markdown, no lists, \
    no code, no links, no emoji. What people say reaches you through speech recognition, which mishears; act on what was most \
    likely meant.";

/// The client's name in records.
const CLIENT: &str = "voice";
/// For how long somebody waits for the answer to a question.
const STILL_AWAITED: Duration = Duration::from_secs(10 * 60);

/// Answers questions.
pub struct Assistant {
    agent: Agent,
    /// The model's name at its provider, and its provider's protocol.
    pub(crate) model: String,
    pub(crate) provider: String,
    conversation: Mutex<Conversation>,
    memory: usize,
    /// The servers whose tools it offers to the model.
    pub(crate) servers: Arc<dyn ToolServers>,
}

/// The servers whose tools a question waits for (SPEC TL-6).
pub trait ToolServers: Send + Sync {
    /// The names of those that are connecting now and are worth waiting for.
    fn connecting(&self) -> Vec<String>;

    /// Waits until each is connected or has failed, for a limited time; the question then continues with the tools that exist.
    fn wait_until_ready(&self) -> BoxFuture<'_, ()>;
}

/// No servers at all: no question waits.
pub struct NoServers;

impl ToolServers for NoServers {
    fn connecting(&self) -> Vec<String> {
        Vec::new()
    }

    fn wait_until_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The assistant's answer.
#[derive(Debug, PartialEq)]
pub(crate) struct AssistantReply {
    pub(crate) answer: String,
    /// How many questions it remembers.
    pub(crate) turns: usize,
}

impl Assistant {
    /// Creates the assistant of an agent that asks this model and offers it the tools of these servers.
    pub fn new(
        agent: Agent,
        model: &Arc<dyn Model>,
        config: &Config,
        servers: Arc<dyn ToolServers>,
    ) -> Self {
        let prompt = config.prompt.as_deref().unwrap_or(HOUSEHOLD);
        let system = format!("{prompt}\n\n{SPOKEN}");
        Self {
            // Text is only spoken once a turn is complete, so that a turn that fails in the middle can be repeated.
            agent: agent
                .with_options(RequestOptions { whole_turns: true, ..RequestOptions::default() }),
            model: model.name().to_owned(),
            provider: model.provider().to_string(),
            conversation: Mutex::new(Conversation::with_system(system)),
            memory: config.memory.max(1),
            servers,
        }
    }

    /// Answers a question; fails with the reason if it cannot.
    pub(crate) async fn answer(
        &self,
        question: &str,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Result<AssistantReply, String> {
        let events: AgentEvents = Arc::new(events);
        let mut conversation = self.conversation.lock().await;
        let before = memory::trimmed(&conversation, self.memory - 1);
        let mut during = before.clone();
        during.say(question);
        let outcome = self.agent.run(&mut during, &events, &context()).await;
        Self::keep(&mut conversation, before, during, &outcome)
    }

    /// Finishes a question whose process ended before it was answered, if it was asked just now: after that nobody waits for the
    /// answer, and what was asked for may be wrong by then. Returns `None` if there is no such question.
    pub(crate) async fn finish(
        &self,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Option<(String, Result<AssistantReply, String>)> {
        let found = self.unanswered()?;
        // Another process may have taken it over.
        let taken = self.agent.recording()?.store.take(found);
        let Ok(Resumable::Unfinished(run)) = taken else { return None };
        let events: AgentEvents = Arc::new(events);
        let mut conversation = self.conversation.lock().await;
        let before = conversation.clone();
        let question = run.start().question().to_owned();
        tracing::info!(run = %run.start().id, "an interrupted question is answered");
        let (during, outcome) = self.agent.resume(*run, &events, &context()).await;
        Some((question, Self::keep(&mut conversation, before, during, &outcome)))
    }

    /// Whether there is a question for [`finish`](Self::finish).
    pub(crate) fn has_unanswered(&self) -> bool {
        self.unanswered().is_some()
    }

    fn unanswered(&self) -> Option<CallId> {
        let found = self.agent.recording()?.store.interrupted_of(CLIENT, STILL_AWAITED);
        found.inspect_err(|error| tracing::warn!(%error, "runs cannot be read")).ok()?
    }

    /// Remembers a question with its answer, if there is one.
    fn keep(
        conversation: &mut Conversation,
        before: Conversation,
        during: Conversation,
        outcome: &AgentOutcome,
    ) -> Result<AssistantReply, String> {
        let answer = outcome.answer.as_deref().map(speakable).filter(|text| !text.is_empty());
        // A question without an answer is not remembered, unless a tool was called for it.
        let has_acted = |message: &Message| matches!(message, Message::Tool(_));
        // A conversation that was summarised has fewer messages than before.
        let new = during.messages().get(before.messages().len()..).unwrap_or(during.messages());
        let is_kept = answer.is_some() || new.iter().any(has_acted);
        *conversation = if is_kept { during } else { before };
        let turns = memory::turns(conversation);
        answer.map(|answer| AssistantReply { answer, turns }).ok_or_else(|| no_answer(outcome))
    }
}

/// Returns the context of every question.
fn context() -> CallContext {
    CallContext::for_owner(CLIENT).with_client(CLIENT)
}

/// Returns why there is no answer.
fn no_answer(outcome: &AgentOutcome) -> String {
    if let Some(error) = &outcome.error {
        // The causes in between are the HTTP client's steps, which do not help.
        let causes =
            iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
        let root = causes.last().map(|root| format!(" ({root})")).unwrap_or_default();
        return format!("{error}{root}");
    }
    let text = match outcome.stop {
        StopCause::Budget => "the time or the tokens of [agent] were spent first",
        StopCause::CostBudget => "the cost budget of [agent] was spent first",
        StopCause::InvalidAnswer => "the answer does not fit its schema",
        StopCause::Repeats => "the model made the same call again and again",
        StopCause::MaxIterations => "the model went on calling tools when it was to answer",
        _ => "the model answered nothing that can be said",
    };
    text.to_owned()
}
