//! A model that replays a file of turns, to try the loop without a provider.

mod file;

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;

use crate::{
    AiMessage, FailureKind, Message, Model, ModelConfig, ModelError, ModelEvent, Price, Provider,
    ProviderInfo, Request, Turn, frames::Framing, model::ModelEvents,
};

pub use file::ScriptError;
use file::{ScriptFile, ScriptedTurn};

/// The name of the script that needs no file.
pub const DEMO: &str = "demo";

pub(crate) static INFO: ProviderInfo = ProviderInfo {
    code: "script",
    telemetry_name: "script",
    default_base_url: "",
    key_variable: None,
    base_url_variable: None,
    default_model: Some(DEMO),
    context_setting: None,
    unknown_model_advice: None,
    first_steps: "None at all, to see how it works:\n  switchboard ask -m demo \"…\"",
    redundant_path: None,
    unreachable_hint: "",
    leaks_calls: false,
    folds_schemas: false,
    framing: Framing::Events,
    connect: |config| Ok(Arc::new(Script::of_config(config)?)),
    check: |config| Box::pin(async { Script::of_config(config).map(drop).map_err(Into::into) }),
    window: |_| Box::pin(std::future::ready(None)),
    // Nothing is sent.
    request: |_, _, _| Value::Null,
    reader: |body| (Provider::OpenAi.info().reader)(body),
};

/// A model that replays the turns of a file, one per request.
#[derive(Debug)]
pub struct Script {
    name: String,
    file: PathBuf,
    turns: Vec<ScriptedTurn>,
    /// Whether every question begins the script again.
    repeats: bool,
    next: AtomicUsize,
    /// The window that the settings claim.
    context: Option<u64>,
    /// The price that they claim.
    price: Option<Price>,
}

impl Script {
    /// The script that `model` of the settings names: `demo`, which is built in, or a file.
    fn of_config(config: &ModelConfig) -> Result<Self, ScriptError> {
        let mut script = match config.model.as_str() {
            DEMO => Self::built_in(DEMO, include_str!("script/demo.json")),
            file => Self::load(Path::new(file)),
        }?;
        let num_ctx = config.num_ctx.map(u64::from);
        script.context = config.context.map(NonZeroU64::get).or(num_ctx);
        script.price = config.price;
        Ok(script)
    }

    /// Reads a script: TOML if the file's name ends in `.toml`, otherwise JSON.
    ///
    /// # Errors
    /// The file cannot be read or is not a script; the error names the line.
    pub fn load(file: &Path) -> Result<Self, ScriptError> {
        Ok(Self::of(file, file::read(file)?))
    }

    /// Reads a script that is built into a program; errors call it `name`.
    ///
    /// # Errors
    /// The text is not a script; the error names the line.
    pub fn built_in(name: &str, text: &str) -> Result<Self, ScriptError> {
        let file = Path::new(name);
        Ok(Self::of(file, file::parse(file, text)?))
    }

    fn of(file: &Path, script: ScriptFile) -> Self {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let ScriptFile { turns, repeat: repeats } = script;
        Self {
            name,
            file: file.to_owned(),
            turns,
            repeats,
            next: AtomicUsize::new(0),
            context: None,
            price: None,
        }
    }

    /// Returns the next turn and its number.
    fn next(&self, messages: &[Message]) -> Result<(usize, &ScriptedTurn), ModelError> {
        let many = self.turns.len();
        let number = match self.repeats {
            // Conversations may be many, so each says itself how far it is.
            true => turns_since_question(messages) % many.max(1),
            false => self.next.fetch_add(1, Ordering::Relaxed),
        };
        let turn = self.turns.get(number).map(|turn| (number + 1, turn));
        turn.ok_or_else(|| {
            let text = match many {
                1 => "the script ends after 1 turn; add another".to_owned(),
                many => format!("the script ends after {many} turns; add another"),
            };
            ModelError::new(FailureKind::Rejected, format!("{}: {text}", self.file.display()))
        })
    }

    fn failure(&self, number: usize, kind: FailureKind, what: &str) -> ModelError {
        ModelError::new(kind, format!("{}: turn {number}: {what}", self.file.display()))
    }

    async fn say(
        &self,
        request: &Request<'_>,
        events: ModelEvents<'_>,
    ) -> Result<Turn, ModelError> {
        let (number, turn) = self.next(request.messages)?;
        if let Some(problem) = unexpected(turn, request.messages) {
            return Err(self.failure(number, FailureKind::Rejected, &problem));
        }
        if let Some(delay) = turn.delay {
            sleep(delay.0).await;
        }
        for (text, event) in [
            (&turn.reasoning, ModelEvent::Reasoning as fn(String) -> ModelEvent),
            (&turn.text, ModelEvent::Text as fn(String) -> ModelEvent),
        ] {
            for piece in pieces(text, request.stream) {
                events(event(piece.to_owned()));
                if let Some(pause) = turn.pause {
                    sleep(pause.0).await;
                }
            }
        }
        if let Some(error) = &turn.error {
            return Err(self.failure(number, FailureKind::Server, error));
        }
        let tool_calls = turn.calls();
        for call in &tool_calls {
            events(ModelEvent::CallSeen { name: call.name.clone() });
        }
        events(ModelEvent::Usage(turn.usage));
        let message = AiMessage { tool_calls, ..AiMessage::text(turn.text.clone()) };
        Ok(Turn { message, stop: turn.stop(), usage: turn.usage })
    }
}

impl Model for Script {
    fn provider(&self) -> Provider {
        Provider::Script
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn known_window(&self) -> Option<u64> {
        self.context
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn summarises(&self) -> bool {
        false
    }

    fn turns_taken(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    fn skip_turns(&self, turns: usize) {
        self.next.store(turns, Ordering::Relaxed);
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(self.say(request, events))
    }
}

/// How many turns the model has had since it was last asked something.
fn turns_since_question(messages: &[Message]) -> usize {
    let since = messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
    since.filter(|message| matches!(message, Message::Ai(_))).count()
}

/// Returns what is wrong with the last message if the turn expects something of it.
fn unexpected(turn: &ScriptedTurn, messages: &[Message]) -> Option<String> {
    let expected = turn.expect.as_deref()?;
    let last = match messages.last()? {
        Message::System(text) => text,
        Message::User(message) => &message.content,
        Message::Ai(message) => &message.content,
        Message::Tool(reply) => &reply.content,
    };
    (!last.contains(expected))
        .then(|| format!("expected `{expected}` in the last message, which is `{last}`"))
}

/// Splits the text into words, each with the space behind it, unless the request does not stream.
fn pieces(text: &str, stream: bool) -> Vec<&str> {
    match (text.is_empty(), stream) {
        (true, _) => Vec::new(),
        (false, false) => vec![text],
        (false, true) => text.split_inclusive(char::is_whitespace).collect(),
    }
}

#[cfg(test)]
mod tests;
