//! The way back to who made a call, for a tool that asks or says something before it answers.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, value::RawValue};

use crate::{BoxFuture, CallId, ToolError};

/// The way back to who made a call, for a tool that has something to ask or to say before it answers.
pub trait WayBack: fmt::Debug + Send + Sync {
    /// Returns whether the caller can be asked questions of this kind.
    fn answers(&self, kind: QuestionKind) -> bool;

    /// Asks questions and returns the answers under the same keys.
    fn ask(
        &self,
        questions: ServerQuestions,
    ) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>>;

    /// Returns what the caller's program declares that it can do, as its protocol writes it: a tool that speaks the same
    /// protocol passes it on. Returns `None` if it declares nothing beside what it [`answers`](Self::answers).
    fn declared(&self) -> Option<&Value> {
        None
    }

    /// What the caller says beside the call, for whoever runs it: trace context, vendors' keys.
    fn notes(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Returns the lowest level of log messages that the caller wants; `None` if it wants none.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// Passes on a log message of the tool, as the tool's protocol writes it.
    fn log(&self, _level: LogLevel, _message: &RawValue) {}

    /// The session that the call belongs to, if it belongs to one.
    fn session(&self) -> Option<&Arc<str>> {
        None
    }
}

/// What kind of question a tool asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// Values from a person, or that a person opens a page.
    Elicit,
    /// The answer of a model.
    Sample,
    /// The folders that the caller works in.
    Roots,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerQuestion {
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// What is asked, as the server's protocol writes it; the answer is written likewise.
    pub params: Value,
}

/// What an MCP server asks in the middle of a call.
#[derive(Clone, Debug)]
pub struct ServerQuestions {
    /// The server's name.
    pub server: Arc<str>,
    /// The name of the tool that was called.
    pub tool: String,
    /// The call, as the records know it.
    pub call_id: Option<CallId>,
    /// The questions by their keys, in the order in which they are asked.
    pub questions: Vec<(String, ServerQuestion)>,
}

impl ServerQuestions {
    /// Questions of `server` in the call of no tool in particular.
    pub fn new(server: impl Into<Arc<str>>, questions: Vec<(String, ServerQuestion)>) -> Self {
        Self { server: server.into(), tool: String::new(), call_id: None, questions }
    }

    /// One question of `server`, which asks a person with `params`.
    pub fn elicit(server: impl Into<Arc<str>>, key: &str, params: Value) -> Self {
        let question = ServerQuestion { kind: QuestionKind::Elicit, params };
        Self::new(server, vec![(key.to_owned(), question)])
    }
}

/// The severity of a log message, as in RFC 5424.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `debug`
    Debug,
    /// `info`
    Info,
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
    /// `critical`
    Critical,
    /// `alert`
    Alert,
    /// `emergency`
    Emergency,
}

impl LogLevel {
    /// All of them, lowest first.
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}
