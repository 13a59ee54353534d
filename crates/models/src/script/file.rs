//! The file of a script.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::HumanDuration;

use crate::{Arguments, FailureKind, ModelCall, ModelError, StopReason, Usage};

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("failed to read script `{file}`")]
    Read {
        /// The file.
        file: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The file is not a script.
    #[error("{file}:{line}: {problem}")]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
}

impl From<ScriptError> for ModelError {
    fn from(error: ScriptError) -> Self {
        let failure = Self::new(FailureKind::Config, error.to_string());
        match error {
            ScriptError::Read { source, .. } => failure.caused_by(source),
            ScriptError::Invalid { .. } => failure,
        }
    }
}

/// A script, as its file holds it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFile {
    pub(super) turns: Vec<ScriptedTurn>,
    /// Whether every question begins the script again.
    #[serde(default)]
    pub(super) repeat: bool,
}

/// One turn of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptedTurn {
    /// A text that the last message must contain.
    pub(super) expect: Option<String>,
    /// Pause before the first word.
    pub(super) delay: Option<HumanDuration>,
    /// Pause after each word.
    pub(super) pause: Option<HumanDuration>,
    /// Reasoning, streamed before the text.
    pub(super) reasoning: String,
    /// The answer.
    pub(super) text: String,
    /// Calls that the turn makes.
    tool_calls: Vec<ScriptedCall>,
    /// Fails the turn with this error, after the text.
    pub(super) error: Option<String>,
    /// Overrides the stop reason that follows from the calls.
    stop: Option<StopReason>,
    /// Tokens reported for the turn.
    pub(super) usage: Usage,
}

/// One call of a turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    #[serde(default)]
    id: String,
    name: String,
    /// An object, or a string as the model writes it, which may be broken JSON.
    #[serde(default)]
    args: Value,
}

impl ScriptedTurn {
    pub(super) fn calls(&self) -> Vec<ModelCall> {
        let call = |call: &ScriptedCall| ModelCall {
            id: call.id.clone(),
            name: call.name.clone(),
            args: Arguments::from_value(call.args.clone()),
            recovered: false,
        };
        self.tool_calls.iter().map(call).collect()
    }

    pub(super) fn stop(&self) -> StopReason {
        let usual =
            if self.tool_calls.is_empty() { StopReason::Answer } else { StopReason::ToolUse };
        self.stop.clone().unwrap_or(usual)
    }
}

/// Reads the turns of a file.
pub(super) fn read(file: &Path) -> Result<ScriptFile, ScriptError> {
    let unreadable = |source| ScriptError::Read { file: file.to_owned(), source };
    let text = fs::read_to_string(file).map_err(unreadable)?;
    parse(file, &text)
}

/// Parses the turns of a text; `file` names it in errors and decides the format.
pub(super) fn parse(file: &Path, text: &str) -> Result<ScriptFile, ScriptError> {
    let read = match file.extension().is_some_and(|end| end == "toml") {
        true => from_toml(text),
        false => from_json(text),
    };
    let script = read.and_then(|script| match script.turns.is_empty() {
        true => Err((1, "the script has no turns".to_owned())),
        false => Ok(script),
    });
    script.map_err(|(line, problem)| ScriptError::Invalid { file: file.to_owned(), line, problem })
}

type LineProblem = (usize, String);

/// Reads an object with `turns`, or a bare list of turns.
fn from_json(text: &str) -> Result<ScriptFile, LineProblem> {
    let read = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text).map(|turns| ScriptFile { turns, repeat: false }),
        false => serde_json::from_str(text),
    };
    read.map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        (error.line().max(1), text.strip_suffix(&place).unwrap_or(&text).to_owned())
    })
}

fn from_toml(text: &str) -> Result<ScriptFile, LineProblem> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
        (before.matches('\n').count() + 1, error.message().to_owned())
    })
}
