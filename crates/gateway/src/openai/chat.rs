//! One chat: from the request to what came of it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use http::StatusCode;
use switchboard_access::Caller;
use switchboard_agent::{Agent, Event, Events, Outcome, StopCause};
use switchboard_models::{Arguments, Message, ModelCall, StopReason, Usage};
use switchboard_toolcall::{CallContext, CallId};

use super::{
    convert,
    failure::Failure,
    kept::KeptConversation,
    wire::{
        Answered, ChatCall, ChatRequest, ChatUsage, ChunkChoice, Completion, CompletionChoice,
        CompletionChunk, Delta, Finish,
    },
};
use crate::gateway::Parts;

/// A chat that is ready to be run.
pub(super) struct Chat {
    pub(super) cx: CallContext,
    pub(super) head: Head,
    pub(super) include_usage: bool,
    pub(super) include_calls: bool,
    parts: Arc<Parts>,
    caller: Caller,
    agent: Agent,
    conversation: KeptConversation,
}

/// What every answer begins with.
#[derive(Clone)]
pub(super) struct Head {
    id: String,
    created: u64,
    model: String,
}

/// What came of a chat.
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<ModelCall>,
    pub(super) finish: Finish,
    pub(super) usage: ChatUsage,
}

impl Chat {
    /// Makes a chat of a request.
    pub(super) async fn new(
        parts: Arc<Parts>,
        caller: &Caller,
        request: &ChatRequest,
    ) -> Result<Self, Failure> {
        let agent = parts.models.agent(&request.model, &parts.executor)?;
        let (visible, tools) = (caller.clone(), parts.executor.tools().clone());
        let agent = agent.offering_where(move |tool| visible.may_see(tool, &tools));
        let foreign = convert::tools(request)?;
        let wishes = convert::wishes(request, |name| {
            foreign.iter().any(|tool| tool.name == name) || agent.offers_tool(name)
        })?;
        let messages = parts.models.transcripts.attach(convert::messages(request)?, caller);
        let mut conversation = match &request.chat {
            Some(id) => {
                let model = request.model.clone();
                KeptConversation::open(id.clone(), model, messages, &parts, caller).await?
            }
            None => KeptConversation::unkept(messages),
        };
        if !conversation.conversation().awaits_model() {
            let text = "the last word must be the user's, or that of a tool that was called";
            return Err(Failure::wrong("messages", text));
        }
        let named = request.user.as_deref().or(request.chat.as_deref());
        let conversation_name = named.map(Into::into);
        let options = request.stream_options.as_ref();
        Ok(Self {
            cx: CallContext { conversation: conversation_name, ..caller.context() }
                .with_client("chat"),
            head: Head::new(request.model.clone()),
            include_usage: options.and_then(|options| options.include_usage).unwrap_or_default(),
            include_calls: options.and_then(|options| options.include_calls).unwrap_or_default(),
            caller: caller.clone(),
            agent: agent.with_foreign_tools(foreign).with_options(wishes),
            conversation,
            parts,
        })
    }

    /// The whole answer.
    pub(super) async fn answer(self) -> Result<Completion, Failure> {
        let head = self.head.clone();
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        let heard = warnings.clone();
        let events: Events = Arc::new(move |happened| {
            if let Event::Warning(text) = happened {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        });
        let reply = self.run(&events).await?;
        let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(head.whole(reply, std::mem::take(&mut warnings)))
    }

    /// Runs the loop.
    pub(super) async fn run(mut self, events: &Events) -> Result<Reply, Failure> {
        let begin = self.conversation.conversation().messages().len();
        let outcome = self.agent.run(self.conversation.conversation(), events, &self.cx).await;
        self.conversation.save().await;
        let new = &self.conversation.conversation().messages()[begin..];
        let has_acted = new.iter().any(|message| matches!(message, Message::Tool(_)));
        let last = new.iter().rev().find_map(|message| match message {
            Message::Ai(said) => Some(said.content.clone()),
            _ => None,
        });
        let usage = ChatUsage::from(outcome.usage);
        let finish = finish(&outcome);
        let (text, calls) = match outcome {
            Outcome { stop: StopCause::Foreign, foreign_calls, .. } => {
                let (new, caller) = (new.to_vec(), &self.caller);
                let calls = self.parts.models.transcripts.keep(new, foreign_calls, caller);
                (last.unwrap_or_default(), calls)
            }
            Outcome { answer: Some(answer), .. } => (answer, Vec::new()),
            // The model, or its provider, ended it in the middle of a call.
            Outcome { stop: StopCause::Answer, .. } => (last.unwrap_or_default(), Vec::new()),
            outcome => return Err(Failure { has_acted, ..self.failure(outcome) }),
        };
        Ok(Reply { text, calls, finish, usage })
    }

    /// Why there is no answer.
    fn failure(&self, outcome: Outcome) -> Failure {
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
        Failure::new(status, text).coded(code)
    }
}

fn finish(outcome: &Outcome) -> Finish {
    match (outcome.stop, &outcome.reason) {
        (StopCause::Foreign, _) => Finish::ToolCalls,
        (_, Some(StopReason::MaxTokens | StopReason::ContextFull)) => Finish::Length,
        (_, Some(StopReason::Refusal)) => Finish::ContentFilter,
        _ => Finish::Stop,
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

impl Head {
    fn new(model: String) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let created = now.map_or(0, |time| time.as_secs());
        Self { id: format!("chatcmpl-{}", CallId::generate()), created, model }
    }

    fn whole(self, reply: Reply, warnings: Vec<String>) -> Completion {
        let Reply { text, calls, finish, usage } = reply;
        let content = (!text.is_empty() || calls.is_empty()).then_some(text);
        let tool_calls = calls.into_iter().map(|call| chat_call(None, call)).collect();
        let message = Answered { role: "assistant", content, refusal: None, tool_calls };
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

    /// A chunk that brings something new, or the end.
    pub(super) fn chunk(&self, delta: Delta, finish_reason: Option<Finish>) -> CompletionChunk {
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

    /// A chunk that says what the client should know.
    pub(super) fn warning(&self, text: String) -> CompletionChunk {
        CompletionChunk { warnings: vec![text], ..self.chunk(Delta::default(), None) }
    }

    /// The chunk that says what it cost.
    pub(super) fn cost(&self, usage: ChatUsage) -> CompletionChunk {
        let chunk = self.chunk(Delta::default(), None);
        CompletionChunk { choices: Vec::new(), usage: Some(usage), ..chunk }
    }
}

/// A call as the client gets it.
pub(super) fn chat_call(index: Option<usize>, call: ModelCall) -> ChatCall {
    let arguments = match call.args {
        Arguments::Object(object) => serde_json::Value::Object(object).to_string(),
        Arguments::Unparsable(text) => text.raw,
    };
    ChatCall::new(index, call.id, call.name, arguments)
}
