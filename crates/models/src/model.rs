//! The one trait behind which every provider stands.

use std::{iter::Sum, ops::AddAssign, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_toolcall::{BoxFuture, ToolSpec};

use crate::{AiMessage, ContextEdits, FoundTools, Message, ModelError, Price, Provider};

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// The provider whose wire format the model speaks.
    fn provider(&self) -> Provider;

    /// The model's name at its provider.
    fn name(&self) -> &str;

    /// Returns how many tokens the model's window has, for what it reads and writes together: by its settings, else by what its
    /// provider says or has said in a refusal. `None` if nobody knows. The provider is asked at most once.
    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(self.known_window()))
    }

    /// Like [`window`](Self::window), but never asks the provider: `None` if the settings do not say and nobody has asked yet.
    fn known_window(&self) -> Option<u64> {
        None
    }

    /// Whether it gets the definitions of [found tools](Request::found) as deferred ones.
    fn defers_found_tools(&self) -> bool {
        false
    }

    /// What its tokens cost, if the settings say so.
    fn price(&self) -> Option<Price> {
        None
    }

    /// Whether its provider keeps conversations within the window by itself.
    fn manages_context(&self) -> bool {
        false
    }

    /// Whether it can be asked for a summary; a script would answer with a turn that is meant for something else.
    fn summarises(&self) -> bool {
        true
    }

    /// How many turns a scripted model has said; 0 for others, which have no state.
    fn turns_taken(&self) -> usize {
        0
    }

    /// Goes on after this many turns, if it is scripted.
    fn skip_turns(&self, _turns: usize) {}

    /// Asks for one turn. `events` hears of it while it comes; a turn that is not streamed comes as one piece.
    ///
    /// Rate limits, overload and broken connections are retried as long as nothing was shown.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection, by which providers learn that the request is cancelled.
    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>>;
}

impl<T: Model + ?Sized> Model for Arc<T> {
    fn provider(&self) -> Provider {
        (**self).provider()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        (**self).window()
    }

    fn known_window(&self) -> Option<u64> {
        (**self).known_window()
    }

    fn defers_found_tools(&self) -> bool {
        (**self).defers_found_tools()
    }

    fn price(&self) -> Option<Price> {
        (**self).price()
    }

    fn manages_context(&self) -> bool {
        (**self).manages_context()
    }

    fn summarises(&self) -> bool {
        (**self).summarises()
    }

    fn turns_taken(&self) -> usize {
        (**self).turns_taken()
    }

    fn skip_turns(&self, turns: usize) {
        (**self).skip_turns(turns);
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        (**self).ask(request, events)
    }
}

/// Receives the events of a turn while it is streamed.
pub type ModelEvents<'a> = &'a (dyn Fn(ModelEvent) + Send + Sync);

/// Whether a tool takes these arguments, by its own schema.
pub type Validate<'a> = &'a (dyn Fn(&str, &Value) -> bool + Send + Sync);

/// What a model is asked.
#[derive(Clone)]
pub struct Request<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// What the model may call, in the order in which it is sent.
    pub tools: Vec<&'a ToolSpec>,
    /// How many of the tools, from the first, every request of the conversation has; `None` if all. The others came later.
    pub fixed_tools: Option<usize>,
    /// Which of the other tools searches found, for a model that [defers](Model::defers_found_tools) their definitions.
    pub found: Option<&'a FoundTools>,
    /// Whether it may call at all.
    pub choice: ToolChoice,
    /// The most tokens of this turn; the config's where unset.
    pub max_tokens: Option<u32>,
    /// The config's where unset.
    pub temperature: Option<f64>,
    /// Whether the turn comes in pieces.
    pub stream: bool,
    /// Whether events wait until the turn is whole: nothing of a turn that fails in the middle is then shown, so that it can
    /// be asked for again.
    pub whole_turns: bool,
    /// The JSON Schema that the answer has to fit. Sent only if no tools are: many servers cannot do both, and nobody may rely on
    /// what came back.
    pub answer_schema: Option<&'a Value>,
    /// Judges the arguments of calls that leaked as text; without it none is recovered.
    pub validate: Option<Validate<'a>>,
}

impl<'a> Request<'a> {
    /// A streamed request without tools.
    pub fn new(messages: &'a [Message]) -> Self {
        Self {
            messages,
            tools: Vec::new(),
            fixed_tools: None,
            found: None,
            choice: ToolChoice::Auto,
            max_tokens: None,
            temperature: None,
            stream: true,
            whole_turns: false,
            answer_schema: None,
            validate: None,
        }
    }

    /// The same request with tools on offer.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = &'a ToolSpec>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// The same request with a judge of leaked calls.
    #[must_use]
    pub fn with_validation(mut self, validate: Validate<'a>) -> Self {
        self.validate = Some(validate);
        self
    }

    /// The same request, answered in one piece.
    #[must_use]
    pub fn in_one_piece(mut self) -> Self {
        self.stream = false;
        self
    }

    /// Returns the schema of the answer, if the provider may be asked to keep to it.
    pub(crate) fn enforced_schema(&self) -> Option<&'a Value> {
        self.answer_schema.filter(|_| !self.offers_tools())
    }

    /// Whether the model may call anything.
    pub(crate) fn offers_tools(&self) -> bool {
        !self.tools.is_empty() && self.choice != ToolChoice::Never
    }
}

/// Whether a model may call the tools it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// The model must not call tools. Anthropic, which needs the tools of calls in the history, and OpenAI's Responses API, which
    /// needs the search of those that were found, are told so; to the others no tools are sent.
    Never,
    /// It has to call something. Ollama cannot be told, so there it may.
    Any,
    /// It has to call this tool. Ollama is shown no other.
    One(String),
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The message to append to the conversation.
    pub message: AiMessage,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    Answer,
    /// There are calls to run.
    ToolUse,
    /// The turn reached its limit of tokens; calls in it may be cut and must not run.
    MaxTokens,
    /// The model, or its provider, declined.
    Refusal,
    /// The conversation no longer fits the model.
    ContextFull,
    /// Something else, in the provider's words.
    Other(String),
}

/// Tokens in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens that were written, reasoning included.
    pub output_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // Providers can claim any number.
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(turns: I) -> Self {
        turns.fold(Self::default(), |mut total, turn| {
            total += turn;
            total
        })
    }
}

/// What happens while a turn comes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More of the answer. Text that looks like a leaked call is held back until it is known to be none.
    Text(String),
    /// More of the model's thoughts.
    Reasoning(String),
    /// The model has begun to write a call of this tool.
    CallSeen {
        /// The tool's own name.
        name: String,
    },
    /// What an answer cost, at its end; a turn that had to be asked for twice has two.
    Usage(Usage),
    /// The provider could not answer; it is asked again.
    Retry {
        /// What it said.
        reason: String,
        /// How long we wait.
        after: std::time::Duration,
    },
    /// Something the user should know, such as a prompt that was cut.
    Warning(String),
    /// The provider left something out of the conversation; told at the end of the answer.
    ContextEdited(ContextEdits),
}
