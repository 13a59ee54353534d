//! One chat: from the request to its outcome.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use http::StatusCode;
use switchboard_access::Caller;
use switchboard_agent::{
    Agent, AgentEvent, AgentEvents, AgentOutcome, RequestOptions, StopCause, UnfinishedRun,
};
use switchboard_models::{Arguments, Message, ModelCall, StopReason, Usage};
use switchboard_toolcall::{CallContext, CallId, ToolSpec};

use super::{
    budget, convert,
    failure::ChatFailure,
    saved_conversation::SavedConversation,
    wire::{
        AssistantMessage, ChatCall, ChatRequest, ChatUsage, ChunkChoice, Completion,
        CompletionChoice, CompletionChunk, Delta, FinishReason,
    },
};
use crate::gateway::Parts;

/// A chat that is ready to be run.
pub(super) struct Chat {
    pub(super) cx: CallContext,
    pub(super) head: CompletionHead,
    pub(super) include_usage: bool,
    pub(super) include_calls: bool,
    parts: Arc<Parts>,
    caller: Caller,
    agent: Agent,
    conversation: SavedConversation,
    /// The run that it goes on with, if it does.
    unfinished: Option<UnfinishedRun>,
}

/// The fields that every response begins with.
#[derive(Clone)]
pub(super) struct CompletionHead {
    id: String,
    created: u64,
    model: String,
}

/// The outcome of a chat.
#[derive(Clone, Debug)]
pub(super) struct ChatOutcome {
    pub(super) text: String,
    pub(super) calls: Vec<ModelCall>,
    pub(super) finish: FinishReason,
    pub(super) usage: ChatUsage,
}

impl Chat {
    /// Creates a chat from a request.
    pub(super) async fn new(
        parts: Arc<Parts>,
        caller: &Caller,
        request: &ChatRequest,
    ) -> Result<Self, ChatFailure> {
        // What is wrong with the request is said before anything of it is kept.
        let (agent, ..) = prepare(&parts, caller, request)?;
        let left = budget::left(&parts, caller, &agent).await?;
        let messages = parts.models.transcripts.attach(convert::messages(request)?, caller);
        let mut conversation = match &request.chat {
            Some(id) => {
                let model = request.model.clone();
                SavedConversation::open(id.clone(), model, messages, &parts, caller).await?
            }
            None => SavedConversation::unkept(messages),
        };
        if !conversation.conversation().awaits_model() {
            let text = "the last word must be the user's, or that of a tool that was called";
            return Err(ChatFailure::wrong("messages", text));
        }
        let chat = Self::with(parts, caller, request, conversation)?;
        Ok(chat.limited_to_cost(left))
    }

    /// Limits what the run may cost, if there is a limit.
    fn limited_to_cost(mut self, most: Option<f64>) -> Self {
        if let Some(most) = most {
            self.agent = self.agent.limited_to_cost(most);
        }
        self
    }

    fn with(
        parts: Arc<Parts>,
        caller: &Caller,
        request: &ChatRequest,
        conversation: SavedConversation,
    ) -> Result<Self, ChatFailure> {
        let (agent, foreign, run_options) = prepare(&parts, caller, request)?;
        let named = request.user.as_deref().or(request.chat.as_deref());
        let options = request.stream_options.as_ref();
        let agent = recorded(agent, request, caller, &parts);
        Ok(Self {
            cx: CallContext { conversation: named.map(Into::into), ..caller.context() }
                .with_client("chat"),
            head: CompletionHead::new(request.model.clone()),
            include_usage: options.and_then(|options| options.include_usage).unwrap_or_default(),
            include_calls: options.and_then(|options| options.include_calls).unwrap_or_default(),
            caller: caller.clone(),
            agent: agent.with_foreign_tools(foreign).with_options(run_options),
            conversation,
            unfinished: None,
            parts,
        })
    }

    /// Creates the chat that goes on with an interrupted run of this request.
    pub(super) async fn resuming(
        parts: Arc<Parts>,
        caller: &Caller,
        request: &ChatRequest,
        unfinished: UnfinishedRun,
    ) -> Result<Self, ChatFailure> {
        let messages = unfinished.start().messages.clone();
        let kept = SavedConversation::reopen(request.chat.as_deref(), messages, &parts, caller);
        let chat = Self::with(parts, caller, request, kept)?;
        // What it spent before counts as its own.
        let chat = chat.limited_to_cost(caller.cost_budget.map(|budget| budget.most));
        Ok(Self { unfinished: Some(unfinished), ..chat })
    }

    /// Sets the id of the run, and the request that the client may repeat.
    pub(super) fn keyed(mut self, run: CallId, request: serde_json::Value) -> Self {
        self.agent = self.agent.recorded_with(|recording| {
            recording.id = Some(run);
            recording.request = Some(request);
        });
        self.head.id = completion_id(run);
        self
    }

    /// Runs the chat and returns the whole response.
    pub(super) async fn answer(self) -> Result<Completion, ChatFailure> {
        let head = self.head.clone();
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        let heard = warnings.clone();
        let events: AgentEvents = Arc::new(move |happened| {
            if let AgentEvent::Warning(text) = happened {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        });
        let reply = self.run(&events).await?;
        let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(head.whole(reply, std::mem::take(&mut warnings)))
    }

    /// Runs the agent's loop.
    pub(super) async fn run(mut self, events: &AgentEvents) -> Result<ChatOutcome, ChatFailure> {
        let begin = self.conversation.conversation().messages().len();
        let outcome = match self.unfinished.take() {
            Some(unfinished) => {
                let (resumed, outcome) = self.agent.resume(unfinished, events, &self.cx).await;
                *self.conversation.conversation() = resumed;
                outcome
            }
            None => self.agent.run(self.conversation.conversation(), events, &self.cx).await,
        };
        self.conversation.save().await;
        let messages = self.conversation.conversation().messages();
        // A conversation that was summarised is shorter than before.
        let new = messages.get(begin..).filter(|_| outcome.summarised.is_empty());
        let new = new.unwrap_or_else(|| since_question(messages));
        let has_acted = new.iter().any(|message| matches!(message, Message::Tool(_)));
        let last = new.iter().rev().find_map(|message| match message {
            Message::Ai(said) => Some(said.content.clone()),
            _ => None,
        });
        let usage = ChatUsage::from(outcome.usage);
        let finish = finish(&outcome);
        let (text, calls) = match outcome {
            AgentOutcome { stop: StopCause::Foreign, foreign_calls, .. } => {
                let (new, caller) = (new.to_vec(), &self.caller);
                let calls = self.parts.models.transcripts.keep(new, foreign_calls, caller);
                (last.unwrap_or_default(), calls)
            }
            AgentOutcome { answer: Some(answer), .. } => (answer, Vec::new()),
            // The model, or its provider, ended the turn in the middle of a call.
            AgentOutcome { stop: StopCause::Answer, .. } => (last.unwrap_or_default(), Vec::new()),
            outcome => return Err(ChatFailure { has_acted, ..self.failure(outcome) }),
        };
        Ok(ChatOutcome { text, calls, finish, usage })
    }

    /// Returns the failure for an outcome without an answer.
    fn failure(&self, outcome: AgentOutcome) -> ChatFailure {
        let budget = self.parts.models.config().token_budget;
        let spent = outcome.usage.input_tokens.saturating_add(outcome.usage.output_tokens);
        let (status, code, text) = match (outcome.stop, outcome.error) {
            (_, Some(error)) => return error.into(),
            (StopCause::Repeats, _) => {
                let text = "the model made the same call again and again";
                (StatusCode::BAD_GATEWAY, "repeated_calls", text)
            }
            (StopCause::Budget, _) if budget.is_some_and(|budget| spent >= budget) => {
                let text = "the tokens were spent before there was an answer";
                (StatusCode::BAD_GATEWAY, "token_budget_spent", text)
            }
            (StopCause::CostBudget, _) => {
                let text = "the cost budget was spent before there was an answer";
                (StatusCode::BAD_GATEWAY, "cost_budget_spent", text)
            }
            (StopCause::InvalidAnswer, _) => {
                let problems = outcome.invalid_answer.unwrap_or_default();
                let text = format!("the model's answer does not fit `response_format`: {problems}");
                return ChatFailure::new(StatusCode::BAD_GATEWAY, text).coded("invalid_answer");
            }
            (StopCause::Budget, _) => {
                let text = "the time was spent before there was an answer";
                (StatusCode::GATEWAY_TIMEOUT, "time_budget_spent", text)
            }
            (StopCause::Cancelled, _) => {
                (StatusCode::SERVICE_UNAVAILABLE, "cancelled", "the chat was cancelled")
            }
            _ => {
                let text = "the model went on calling tools when it was to answer";
                (StatusCode::BAD_GATEWAY, "max_iterations", text)
            }
        };
        ChatFailure::new(status, text).coded(code)
    }
}

fn finish(outcome: &AgentOutcome) -> FinishReason {
    match (outcome.stop, &outcome.reason) {
        (StopCause::Foreign, _) => FinishReason::ToolCalls,
        (_, Some(StopReason::MaxTokens | StopReason::ContextFull)) => FinishReason::Length,
        (_, Some(StopReason::Refusal)) => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}

impl From<Usage> for ChatUsage {
    fn from(Usage { input_tokens, output_tokens }: Usage) -> Self {
        Self {
            prompt_tokens: input_tokens,
            completion_tokens: output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
        }
    }
}

/// Returns the model with its tools for a request, the client's own tools, and the options.
fn prepare(
    parts: &Arc<Parts>,
    caller: &Caller,
    request: &ChatRequest,
) -> Result<(Agent, Vec<ToolSpec>, RequestOptions), ChatFailure> {
    let agent = parts.models.agent(&request.model, &parts.executor)?;
    let (visible, tools) = (caller.clone(), parts.executor.tools().clone());
    let agent = agent.seeing(caller.visibility().clone());
    let agent = agent.offering_where(move |tool| visible.may_see(tool, &tools));
    let foreign = convert::tools(request)?;
    let options = convert::options(request, |name| {
        foreign.iter().any(|tool| tool.name == name) || agent.offers_tool(name)
    })?;
    Ok((agent, foreign, options))
}

/// Says in the record of the run which chat it is a turn of, and which tools its client may see, in which profile.
fn recorded(agent: Agent, request: &ChatRequest, caller: &Caller, parts: &Parts) -> Agent {
    agent.recorded_with(|recording| {
        recording.chat.clone_from(&request.chat);
        let visibility = caller.visibility();
        recording.profile = visibility.profile().map(|profile| profile.name().to_string());
        if visibility.hides_tools() {
            let seen = parts.executor.tools().listed_for(visibility);
            recording.tools = seen.iter().map(|tool| tool.name().to_string()).collect();
        }
    })
}

/// Returns what came after the last question.
fn since_question(messages: &[Message]) -> &[Message] {
    let asked = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    &messages[asked.map_or(0, |asked| asked + 1)..]
}

/// Returns the id of the response that a run answers.
fn completion_id(run: CallId) -> String {
    format!("chatcmpl-{run}")
}

impl CompletionHead {
    fn new(model: String) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let created = now.map_or(0, |time| time.as_secs());
        Self { id: completion_id(CallId::generate()), created, model }
    }

    /// The same fields for the response of a run.
    pub(super) fn of_run(model: String, run: CallId) -> Self {
        Self { id: completion_id(run), ..Self::new(model) }
    }

    pub(super) fn whole(self, reply: ChatOutcome, warnings: Vec<String>) -> Completion {
        let ChatOutcome { text, calls, finish, usage } = reply;
        let content = (!text.is_empty() || calls.is_empty()).then_some(text);
        let tool_calls = calls.into_iter().map(|call| chat_call(None, call)).collect();
        let message = AssistantMessage { role: "assistant", content, refusal: None, tool_calls };
        Completion {
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: [CompletionChoice {
                index: 0,
                message,
                logprobs: None,
                finish_reason: finish,
            }],
            usage,
            warnings,
        }
    }

    /// Creates a chunk with new text or calls, or the last chunk.
    pub(super) fn chunk(
        &self,
        delta: Delta,
        finish_reason: Option<FinishReason>,
    ) -> CompletionChunk {
        let choice = ChunkChoice { index: 0, delta, logprobs: None, finish_reason };
        CompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            choices: vec![choice],
            usage: None,
            warnings: Vec::new(),
        }
    }

    /// Returns a chunk with a note for the client.
    pub(super) fn warning(&self, text: String) -> CompletionChunk {
        CompletionChunk { warnings: vec![text], ..self.chunk(Delta::default(), None) }
    }

    /// Returns the chunk with the usage.
    pub(super) fn cost(&self, usage: ChatUsage) -> CompletionChunk {
        let chunk = self.chunk(Delta::default(), None);
        CompletionChunk { choices: Vec::new(), usage: Some(usage), ..chunk }
    }
}

/// Converts a call to the client's format.
pub(super) fn chat_call(index: Option<usize>, call: ModelCall) -> ChatCall {
    let arguments = match call.args {
        Arguments::Object(object) => serde_json::Value::Object(object).to_string(),
        Arguments::Unparsable(text) => text.raw,
    };
    ChatCall::new(index, call.id, call.name, arguments)
}
