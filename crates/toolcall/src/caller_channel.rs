//! Lets a tool ask or tell its caller something during a call.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, value::RawValue};

use crate::{BoxFuture, CallId, ToolError};

/// Lets a tool ask or tell its caller something before it returns.
pub trait CallerChannel: fmt::Debug + Send + Sync {
    /// Returns whether the caller accepts questions of this kind.
    fn answers(&self, kind: QuestionKind) -> bool;

    /// Asks questions. Returns the answers under the same keys.
    fn ask(
        &self,
        questions: ServerQuestions,
    ) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>>;

    /// Stops the call's timeout until the guard is dropped: a person has something to do first.
    fn pause(&self) -> Box<dyn Send> {
        Box::new(())
    }

    /// Returns the capabilities that the client declared, in its protocol's format: a tool that speaks the same
    /// protocol passes them on. Returns `None` if it declared nothing besides what it [`answers`](Self::answers).
    fn declared(&self) -> Option<&Value> {
        None
    }

    /// Returns metadata that the caller sent with the call, to be passed on: trace context, vendors' keys.
    fn notes(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Returns the lowest level of log messages that the caller wants. `None` if it wants none.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// Passes on a log message of the tool, in the tool's protocol's format.
    fn log(&self, _level: LogLevel, _message: &RawValue) {}

    /// Returns the session that the call belongs to, if there is one.
    fn session(&self) -> Option<&Arc<str>> {
        None
    }
}

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// Elicitation: values from a person, or a page that a person should open.
    Elicit,
    /// Sampling: a model's response.
    Sample,
    /// Roots: the folders that the caller works in.
    Roots,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerQuestion {
    /// The kind of question.
    pub kind: QuestionKind,
    /// The parameters in the server's protocol's format; the answer has the same format.
    pub params: Value,
}

/// What an MCP server asks during a call.
#[derive(Clone, Debug)]
pub struct ServerQuestions {
    /// The server's name.
    pub server: Arc<str>,
    /// The tool's name.
    pub tool: String,
    /// The call's id, as in its record.
    pub call_id: Option<CallId>,
    /// The questions by key, in order.
    pub questions: Vec<(String, ServerQuestion)>,
}

impl ServerQuestions {
    /// Creates questions of `server` that belong to no tool call.
    pub fn new(server: impl Into<Arc<str>>, questions: Vec<(String, ServerQuestion)>) -> Self {
        Self { server: server.into(), tool: String::new(), call_id: None, questions }
    }

    /// Creates one elicitation of `server` with `params`.
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
    /// All levels, lowest first.
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

    /// Returns its name.
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
