//! Keeps a conversation within the model's window (SPEC RN-3).
//!
//! If the next request nears the window, the oldest results of tools become one line each; if that is not enough, the oldest
//! turns become a summary. What was shortened is kept whole as an artifact, which the model can read, is written down with the
//! run, and is told. Much is shortened at once, so that the beginning of the next requests stays the same and caches hit.

mod estimate;
mod provider;
mod shorten;
mod summary;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use switchboard_models::{ContextEdits, Message, Usage};

use crate::{Agent, AgentEvent, Conversation, run::AgentRun};

pub(crate) use shorten::ShortenedReply;
pub(crate) use summary::{SummarisedTurns, is_question};

/// From this many tokens on the provider is asked for the window, if nobody knows it.
const ASKS_FROM: u64 = 3_000;

/// How much of the room, in percent, a request may take before the conversation is shortened, and how much it takes then.
const NEARS: u64 = 90;
const TARGET: u64 = 60;

/// The part of the window that is left for what the model writes, if nobody says how much that is at most.
const FOR_OUTPUT: u64 = 8;

/// How far the provider's count may be from the estimate, in percent.
const FACTORS: std::ops::RangeInclusive<u64> = 80..=400;

/// How often a conversation is shortened because a provider refused it.
const MOST_REFUSALS: usize = 3;

/// A result of a tool that a conversation has only a line of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortenedResult {
    /// The call.
    pub tool_call_id: String,
    /// The artifact that has the whole result.
    pub artifact: String,
}

/// Messages that a conversation has only a summary of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummarisedMessages {
    /// How many messages they were.
    pub messages: usize,
    /// The artifact that has them, as JSON.
    pub artifact: String,
}

/// A place in a conversation where something was shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortenedPlace {
    /// The artifact that has the whole.
    pub artifact: String,
    /// The line that stands there.
    pub what: String,
}

impl ShortenedPlace {
    /// Returns the place if the message is a line about a result, or a summary.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let line = match message {
            Message::Tool(reply) => reply.content.lines().next()?,
            Message::User(said) => {
                said.content.lines().next().filter(|line| line.starts_with(summary::BEGINNING))?
            }
            _ => return None,
        };
        let is_line = line.starts_with('[') && line.ends_with(']');
        let (_, rest) = line.rsplit_once("read_result {\"id\":\"").filter(|_| is_line)?;
        let (artifact, end) = rest.split_once("\"}")?;
        let what = line.to_owned();
        end.starts_with(" has ").then(|| Self { artifact: artifact.to_owned(), what })
    }
}

/// How much of a model's window a conversation takes.
#[derive(Clone, Copy, Debug)]
pub struct ContextUsage {
    /// About how many tokens the next request has.
    pub tokens: u64,
    /// The tokens of the window, if anybody knows them.
    pub window: Option<u64>,
}

impl Agent {
    /// Returns how much of the model's window a conversation takes, with the definitions of the tools on offer.
    pub async fn context_usage(&self, conversation: &Conversation) -> ContextUsage {
        let tools = self.offered();
        let definitions: u64 =
            tools.iter().map(|tool| estimate::definition(&crate::agent::shown_spec(tool))).sum();
        let tokens = definitions + estimate::messages(conversation.messages());
        ContextUsage { tokens, window: self.model.window().await }
    }
}

/// A change that made a conversation shorter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConversationEdit {
    Shortened(ShortenedReply),
    Summarised(SummarisedTurns),
    /// The provider left out a result; the conversation still has it.
    Cleared(ShortenedResult),
    /// The provider made a summary, which the turn has that follows.
    Compacted(SummarisedMessages),
}

/// What a run knows of its model's window, and what it shortened.
#[derive(Default)]
pub(crate) struct ContextFit {
    /// How many of the provider's tokens a hundred of ours are; `None` until it has counted some.
    factor: Option<u64>,
    /// Our estimate of the last request.
    estimated: u64,
    /// The window that a refusal suggests which does not name it.
    suspected: Option<u64>,
    refusals: usize,
    /// The tokens of the definitions, by how many there were.
    definitions: (usize, u64),
    /// The artifacts of results that were cut already, by call.
    pub(crate) wholes: Mutex<HashMap<String, String>>,
    pub(crate) shortened: Vec<ShortenedResult>,
    pub(crate) summarised: Vec<SummarisedMessages>,
    /// What the provider left out by itself.
    pub(crate) cleared: Vec<ShortenedResult>,
    pub(crate) compacted: Vec<SummarisedMessages>,
    /// What it said of that while it answered.
    provider_edits: Mutex<Option<ContextEdits>>,
    /// What summaries cost.
    pub(crate) usage: Usage,
    /// The same in money, by the price of the model that made them.
    pub(crate) cost: f64,
}

/// How many tokens a request may have.
#[derive(Clone, Copy, Debug)]
struct Room {
    window: u64,
    /// What is left for the request.
    available: u64,
}

impl Room {
    fn nears(self) -> u64 {
        self.available * NEARS / 100
    }

    fn target(self) -> u64 {
        self.available * TARGET / 100
    }
}

impl ContextFit {
    /// Remembers where the whole of a result is of which the conversation has only a part.
    pub(crate) fn note_whole(&self, tool_call_id: &str, artifact: &str) {
        let mut wholes = self.wholes.lock().unwrap_or_else(PoisonError::into_inner);
        wholes.insert(tool_call_id.to_owned(), artifact.to_owned());
    }

    /// Corrects the estimate by what the provider counted.
    pub(crate) fn correct(&mut self, usage: Usage) {
        if self.estimated > 0 && usage.input_tokens > 0 {
            let factor = usage.input_tokens.saturating_mul(100) / self.estimated;
            self.factor = Some(factor.clamp(*FACTORS.start(), *FACTORS.end()));
        }
    }

    /// Converts our tokens to the provider's.
    fn corrected(&self, tokens: u64) -> u64 {
        tokens * self.factor.unwrap_or(100) / 100
    }

    pub(crate) fn has_shortened(&self) -> bool {
        !self.shortened.is_empty() || !self.summarised.is_empty()
    }
}

impl AgentRun<'_> {
    /// Shortens the conversation if the next request nears the model's window, unless its provider does.
    pub(crate) async fn fit(&mut self, conversation: &mut Conversation) {
        self.fit.estimated = 0;
        if self.agent.model.manages_context() || self.surely_fits(conversation.messages()) {
            return;
        }
        let tokens = self.request_tokens(conversation.messages());
        self.fit.estimated = tokens;
        let Some(room) = self.room(self.fit.corrected(tokens)).await else { return };
        if self.fit.corrected(tokens) > room.nears() {
            self.shrink(conversation, room).await;
            self.fit.estimated = self.request_tokens(conversation.messages());
        }
    }

    /// Returns whether the messages are so short that nothing has to be counted.
    fn surely_fits(&self, messages: &[Message]) -> bool {
        let most = self.fit.corrected(estimate::most(messages));
        let known = self.agent.model.known_window();
        match known.into_iter().chain(self.fit.suspected).min() {
            Some(window) => most <= self.room_of(window).available / 4,
            None => most < ASKS_FROM,
        }
    }

    /// Makes room after the provider refused the conversation because it is too long. Returns whether there is any.
    pub(crate) async fn make_room(&mut self, conversation: &mut Conversation) -> bool {
        self.fit.refusals += 1;
        if self.fit.refusals > MOST_REFUSALS {
            return false;
        }
        let tokens = self.request_tokens(conversation.messages());
        let room = self.room(self.fit.corrected(tokens)).await;
        let fits = |room: Room| self.fit.corrected(tokens) <= room.nears();
        let room = match room.filter(|room| !fits(*room)) {
            Some(room) => room,
            // The refusal did not name the window, or our estimate is wrong: what was refused does not fit.
            None => {
                let window = self.fit.corrected(tokens) * 3 / 4;
                self.fit.suspected = Some(window);
                self.room_of(window)
            }
        };
        let before = tokens;
        self.shrink(conversation, room).await;
        self.fit.estimated = self.request_tokens(conversation.messages());
        self.fit.estimated < before
    }

    async fn room(&self, tokens: u64) -> Option<Room> {
        let model = &self.agent.model;
        let known = match model.known_window() {
            Some(window) => Some(window),
            None if tokens < ASKS_FROM => None,
            None => model.window().await,
        };
        let window = match (known, self.fit.suspected) {
            (Some(known), Some(suspected)) => known.min(suspected),
            (known, suspected) => known.or(suspected)?,
        };
        Some(self.room_of(window))
    }

    fn room_of(&self, window: u64) -> Room {
        let wanted = self.agent.options.max_tokens.map(u64::from);
        let output = wanted.unwrap_or(window / FOR_OUTPUT).min(window / 2);
        Room { window, available: window - output }
    }

    /// Returns our estimate of the tokens of a request with these messages.
    fn request_tokens(&mut self, messages: &[Message]) -> u64 {
        let tools = self.offered(messages);
        let specs = self.specs(&tools);
        let many = specs.len();
        let definitions = match self.fit.definitions {
            (counted, tokens) if counted == many && many > 0 => tokens,
            _ => specs.iter().map(|spec| estimate::definition(spec)).sum(),
        };
        drop(specs);
        self.fit.definitions = (many, definitions);
        definitions + estimate::messages(messages)
    }

    /// Shortens what may be shortened, the oldest first, until the target is met.
    async fn shrink(&mut self, conversation: &mut Conversation, room: Room) {
        let (results, summaries) = (self.fit.shortened.len(), self.fit.summarised.len());
        let fixed = self.request_tokens(conversation.messages())
            - estimate::messages(conversation.messages());
        let left = |run: &Self, conversation: &Conversation| {
            run.fit.corrected(fixed + estimate::messages(conversation.messages()))
        };
        self.shorten_old_results(conversation, |run, now| left(run, now) > room.target()).await;
        if left(self, conversation) > room.nears() {
            self.shorten_large_results(conversation, room.available).await;
        }
        if left(self, conversation) > room.nears() {
            let excess = left(self, conversation) - room.target();
            self.summarise(conversation, excess, room.available).await;
        }
        if left(self, conversation) > room.nears() {
            self.shorten_last_results(conversation, |run, now| left(run, now) > room.nears()).await;
        }
        let results = self.fit.shortened.len() - results;
        let summaries = self.fit.summarised.len() - summaries;
        self.tell_shortened(results, summaries, room.window);
    }

    fn tell_shortened(&self, results: usize, summaries: usize, window: u64) {
        let results = match results {
            0 => None,
            1 => Some("1 result of a tool is one line now".to_owned()),
            many => Some(format!("{many} results of tools are one line each now")),
        };
        let summary = (summaries > 0).then(|| "the oldest turns are a summary now".to_owned());
        let said: Vec<_> = results.into_iter().chain(summary).collect();
        if said.is_empty() {
            return;
        }
        let said = said.join(", and ");
        let text =
            format!("to fit the model's window of {window} tokens, {said}; what they were is kept");
        // Programs and pipes have no other place to hear of it.
        tracing::warn!("{text}");
        (self.events)(AgentEvent::Warning(text));
    }

    /// Makes the changes that a run made before it was interrupted.
    pub(crate) fn redo(&mut self, edits: Vec<ConversationEdit>, conversation: &mut Conversation) {
        for edit in edits {
            match edit {
                ConversationEdit::Shortened(edit) => self.redo_shortened(edit, conversation),
                ConversationEdit::Summarised(edit) => self.redo_summarised(edit, conversation),
                ConversationEdit::Cleared(entry) => self.fit.cleared.push(entry),
                ConversationEdit::Compacted(entry) => self.fit.compacted.push(entry),
            }
        }
    }
}
