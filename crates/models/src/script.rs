//! A model that replays a file of turns, to try the loop without a provider.

mod file;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;

use crate::{
    AiMessage, Event, FailureKind, Message, Model, ModelError, Provider, Request, Turn,
    model::Events,
};

pub use file::ScriptError;
use file::ScriptedTurn;

/// A model that replays the turns of a file, one per request.
#[derive(Debug)]
pub struct Script {
    name: String,
    file: PathBuf,
    turns: Vec<ScriptedTurn>,
    next: AtomicUsize,
}

impl Script {
    /// Reads a script: TOML if the file's name ends in `.toml`, otherwise JSON.
    ///
    /// # Errors
    /// The file cannot be read or is not a script; the error names the line.
    pub fn load(file: &Path) -> Result<Self, ScriptError> {
        let turns = file::read(file)?;
        Ok(Self::of(file, turns))
    }

    /// Reads a script that is built into a program; errors call it `name`.
    ///
    /// # Errors
    /// The text is not a script; the error names the line.
    pub fn built_in(name: &str, text: &str) -> Result<Self, ScriptError> {
        let file = Path::new(name);
        let turns = file::parse(file, text)?;
        Ok(Self::of(file, turns))
    }

    fn of(file: &Path, turns: Vec<ScriptedTurn>) -> Self {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Self { name, file: file.to_owned(), turns, next: AtomicUsize::new(0) }
    }

    /// Returns the next turn and its number.
    fn next(&self) -> Result<(usize, &ScriptedTurn), ModelError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let many = self.turns.len();
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

    async fn say(&self, request: &Request<'_>, events: Events<'_>) -> Result<Turn, ModelError> {
        let (number, turn) = self.next()?;
        if let Some(problem) = unexpected(turn, request.messages) {
            return Err(self.failure(number, FailureKind::Rejected, &problem));
        }
        if let Some(delay) = turn.delay {
            sleep(delay.0).await;
        }
        for (text, event) in [
            (&turn.reasoning, Event::Reasoning as fn(String) -> Event),
            (&turn.text, Event::Text as fn(String) -> Event),
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
            events(Event::CallSeen { name: call.name.clone() });
        }
        events(Event::Usage(turn.usage));
        let message = AiMessage { tool_calls, ..AiMessage::text(turn.text.clone()) };
        Ok(Turn { message, stop: turn.stop(), usage: turn.usage })
    }
}

impl Model for Script {
    /// Calls are converted as for an OpenAI-compatible server.
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: Events<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(self.say(request, events))
    }
}

/// Says what is wrong with the last message if the turn expects something of it.
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
