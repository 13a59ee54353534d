//! A model that does what the user says, any number of times; for tests of code that serves models.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_models::{
    AiMessage, Arguments, FailureKind, Message, Model, ModelCall, ModelError, ModelEvent, Price,
    Provider, Request, StopReason, ToolChoice, Turn, Usage, model::ModelEvents,
};
use switchboard_toolcall::BoxFuture;

/// Obeys the last thing the user said, line by line: `call NAME ARGUMENTS` calls a tool, `say TEXT` says something beside
/// it, `then` ends a turn, `cut` and `refuse` end it in another way, `fail` fails, `hang` hangs. If there is nothing to obey, it answers with the results of its
/// calls, or with what it heard. It takes only conversations that providers take.
#[derive(Clone, Default)]
pub struct ObedientModel {
    asked: Arc<Mutex<Vec<ModelRequest>>>,
    price: Option<Price>,
}

/// How a model was asked.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The names of the tools that it was shown.
    pub tools: Vec<String>,
    /// Whether it might call them.
    pub choice: ToolChoice,
    /// The most tokens.
    pub max_tokens: Option<u32>,
    /// How daring it was to be.
    pub temperature: Option<f64>,
}

impl ObedientModel {
    /// How it was asked, each time.
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same model, whose tokens cost this.
    #[must_use]
    pub fn with_price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }

    fn note(&self, request: &Request<'_>) {
        let asked = ModelRequest {
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            choice: request.choice.clone(),
            max_tokens: request.max_tokens,
            temperature: request.temperature,
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }

    async fn say(
        &self,
        request: &Request<'_>,
        events: ModelEvents<'_>,
    ) -> Result<Turn, ModelError> {
        self.note(request);
        if let Some(problem) = rejected(request.messages) {
            return Err(ModelError::new(FailureKind::Rejected, problem));
        }
        let mut message = AiMessage::default();
        let mut stop = None;
        for line in orders(request.messages) {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("hang", _) => std::future::pending().await,
                ("fail", _) => return Err(ModelError::new(FailureKind::Server, "it burns")),
                ("cut", _) => stop = Some(StopReason::MaxTokens),
                ("refuse", _) => stop = Some(StopReason::Refusal),
                ("call", call) => message.tool_calls.push(call_of(call)),
                (_, text) => message.content = text.to_owned(),
            }
        }
        if message == AiMessage::default() {
            message.content = answer(request.messages);
        }
        for piece in message.content.split_inclusive(' ') {
            events(ModelEvent::Text(piece.to_owned()));
            tokio::task::yield_now().await;
        }
        let stop = stop.unwrap_or(match message.tool_calls.is_empty() {
            true => StopReason::Answer,
            false => StopReason::ToolUse,
        });
        Ok(Turn { message, stop, usage: Usage { input_tokens: 10, output_tokens: 5 } })
    }
}

impl Model for ObedientModel {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn name(&self) -> &str {
        "model"
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(self.say(request, events))
    }
}

/// What the user wants in this turn.
fn orders(messages: &[Message]) -> Vec<&str> {
    let user = messages.iter().enumerate().rev().find_map(|(place, message)| match message {
        Message::User(said) => Some((place, &said.content)),
        _ => None,
    });
    let Some((place, said)) = user else { return Vec::new() };
    let is_turn = |message: &&Message| matches!(message, Message::Ai(_));
    let turn = messages[place..].iter().filter(is_turn).count();
    let lines: Vec<_> = said.lines().collect();
    let wanted = lines.split(|line| *line == "then").nth(turn).unwrap_or_default();
    let is_order = |line: &&&str| {
        ["call ", "say ", "cut", "refuse", "fail", "hang"].iter().any(|word| line.starts_with(word))
    };
    wanted.iter().filter(is_order).copied().collect()
}

fn call_of(call: &str) -> ModelCall {
    let (name, args) = call.split_once(' ').unwrap_or((call, ""));
    let args = Arguments::parse(args);
    ModelCall { id: String::new(), name: name.to_owned(), args, recovered: false }
}

/// The results of the last calls, or what was heard.
fn answer(messages: &[Message]) -> String {
    let heard = match messages.last() {
        Some(Message::User(said)) => match said.images.len() {
            0 => said.content.clone(),
            many => format!("{} with {many} images", said.content),
        },
        Some(Message::System(text)) => text.clone(),
        _ => {
            let replies = messages.iter().rev().map_while(|message| match message {
                Message::Tool(reply) => Some(reply.content.as_str()),
                _ => None,
            });
            let mut replies: Vec<_> = replies.collect();
            replies.reverse();
            replies.join(" and ")
        }
    };
    format!("I heard {heard}")
}

/// What providers would not take: a call without its reply, a reply without its call.
fn rejected(messages: &[Message]) -> Option<String> {
    let mut open: VecDeque<&str> = VecDeque::new();
    for message in messages {
        match message {
            Message::Tool(reply) if open.pop_front() == Some(&reply.tool_call_id) => {}
            Message::Tool(reply) => return Some(format!("no call {}", reply.tool_call_id)),
            _ if !open.is_empty() => return Some(format!("no reply to {open:?}")),
            Message::Ai(said) => open.extend(said.tool_calls.iter().map(|call| &*call.id)),
            _ => {}
        }
    }
    (!open.is_empty()).then(|| format!("no reply to {open:?}"))
}
