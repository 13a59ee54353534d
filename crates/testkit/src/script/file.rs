//! The file of a script.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use switchboard_models::{Arguments, ModelCall, StopReason, Usage};
use switchboard_toolcall::HumanDuration;

/// Why a script cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("failed to read script `{file}`")]
    Read {
        /// The file.
        file: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// What is in it is no script.
    #[error("{file}:{line}: {problem}")]
    Wrong {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
}

/// A script, as its file holds it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    turns: Vec<Scripted>,
}

/// One turn of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Scripted {
    /// A text that must stand in the last message.
    pub(super) expect: Option<String>,
    /// How long the model is silent first.
    pub(super) delay: Option<HumanDuration>,
    /// How long it is silent after each word.
    pub(super) pause: Option<HumanDuration>,
    /// What it thinks.
    pub(super) reasoning: String,
    /// What it says.
    pub(super) text: String,
    /// What it calls.
    tool_calls: Vec<ScriptedCall>,
    /// How its provider fails, after what it said so far.
    pub(super) error: Option<String>,
    /// Why the turn ended, where that is not plain.
    stop: Option<StopReason>,
    /// What it cost.
    pub(super) usage: Usage,
}

/// One call of a turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    #[serde(default)]
    id: String,
    name: String,
    /// An object; or a string, as a model writes it, which may be broken.
    #[serde(default)]
    args: Value,
}

impl Scripted {
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
        let plain =
            if self.tool_calls.is_empty() { StopReason::Answer } else { StopReason::ToolUse };
        self.stop.clone().unwrap_or(plain)
    }
}

/// Reads the turns of a file.
pub(super) fn read(file: &Path) -> Result<Vec<Scripted>, ScriptError> {
    let unreadable = |source| ScriptError::Read { file: file.to_owned(), source };
    let text = fs::read_to_string(file).map_err(unreadable)?;
    parse(file, &text)
}

/// Reads the turns of a text, which stands in the file or is built in under its name.
pub(super) fn parse(file: &Path, text: &str) -> Result<Vec<Scripted>, ScriptError> {
    let read = match file.extension().is_some_and(|end| end == "toml") {
        true => from_toml(text),
        false => from_json(text),
    };
    let turns = read.and_then(|turns| match turns.is_empty() {
        true => Err((1, "the script has no turns".to_owned())),
        false => Ok(turns),
    });
    turns.map_err(|(line, problem)| ScriptError::Wrong { file: file.to_owned(), line, problem })
}

type Problem = (usize, String);

/// An object with `turns`, or the list of them.
fn from_json(text: &str) -> Result<Vec<Scripted>, Problem> {
    let read = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::from_str(text).map(|file: File| file.turns),
    };
    read.map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        (error.line().max(1), text.strip_suffix(&place).unwrap_or(&text).to_owned())
    })
}

fn from_toml(text: &str) -> Result<Vec<Scripted>, Problem> {
    let read = toml::from_str(text).map(|file: File| file.turns);
    read.map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
        (before.matches('\n').count() + 1, error.message().to_owned())
    })
}
