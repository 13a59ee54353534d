//! What people are shown of a run, and the file of one that has ended: a line with the summary, and one with the rest.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    num::NonZeroU32,
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_models::{Message, Usage};
use switchboard_runtime::{private_files, redact};
use switchboard_toolcall::CallId;

use super::{
    ImageCounts, OfferedTools,
    live::{RecordedRun, RunStart},
};
use crate::{
    AnswerSchema, InvalidSchema, RequestOptions, ShortenedResult, SummarisedMessages,
    fit::ConversationEdit, run::rounded,
};

/// How far a run is (SPEC RN-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process runs it.
    Running,
    /// It has an answer.
    Ended,
    /// It stopped without an answer.
    Failed,
    /// Its caller cancelled it.
    Cancelled,
    /// Its process is gone; `runs resume` goes on with it.
    Interrupted,
}

impl RunState {
    /// The state as it is written.
    pub fn code(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run's id, which its calls have as their conversation unless there is another one.
    pub id: CallId,
    /// How far it is.
    pub state: RunState,
    /// The model, as `-m` takes it.
    pub model: String,
    /// When it began, in UTC.
    pub started: String,
    /// The beginning of the question, on one line, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// How often the model answered.
    pub turns: usize,
    /// How many calls it made.
    pub calls: usize,
    /// The tokens of all prompts.
    pub input_tokens: u64,
    /// The tokens of all answers.
    pub output_tokens: u64,
    /// What they cost, if the model had a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The client program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The chat that it is a turn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The conversation that its calls have, if that is not the run's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The profile that it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a run was asked, beside its model and profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The patterns of `--tools`, or the tools that its client saw; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The tools that it was offered when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<OfferedTools>,
    /// How often the model is asked at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<NonZeroU32>,
    /// The most tokens of each turn, if the request said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature, if the request said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The JSON Schema that the answer has to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl RunSettings {
    /// Returns the options to ask again like this.
    ///
    /// # Errors
    /// The schema cannot be used, which it could when the run began.
    pub fn options(&self) -> Result<RequestOptions, InvalidSchema> {
        let answer = self.schema.clone().map(AnswerSchema::new).transpose()?;
        let Self { max_tokens, temperature, .. } = *self;
        Ok(RequestOptions { max_tokens, temperature, answer, ..RequestOptions::default() })
    }
}

/// A run with its conversation, redacted.
#[derive(Clone, Debug)]
pub struct RunDetail {
    /// The list's entry.
    pub summary: RunSummary,
    /// How it was asked.
    pub settings: RunSettings,
    /// The answer, if there is one.
    pub answer: Option<String>,
    /// The messages, as `ask --json` has them, with what the model said last if its turn did not come to its end.
    pub messages: Value,
    /// How many of the messages are the question and what was said before it; `None` in files of older versions.
    pub asked: Option<usize>,
    /// The images that the messages had, which are not kept.
    pub images: ImageCounts,
    /// What the model said of a turn that did not come to its end.
    pub partial: Option<String>,
    /// The results of tools of which the conversation has only a line.
    pub shortened: Vec<ShortenedResult>,
    /// The messages of which the model read only a summary.
    pub summarised: Vec<SummarisedMessages>,
    /// For each turn its tokens and calls.
    pub timeline: Value,
}

impl RunDetail {
    pub(crate) fn of(run: &RecordedRun, state: RunState, error: Option<&str>) -> Self {
        let start = &run.start;
        let (mut shortened, mut summarised) = (Vec::new(), Vec::new());
        let mut usage: Usage = run.turns.iter().map(|turn| turn.usage).sum();
        let mut cost = start.price.map(|price| price.cost(usage));
        for edit in run.all_edits() {
            match edit {
                ConversationEdit::Shortened(edit) => shortened.push(edit.entry()),
                ConversationEdit::Summarised(edit) => {
                    summarised.push(edit.entry());
                    usage += edit.usage;
                    let of_edit = edit.cost.or(start.price.map(|price| price.cost(edit.usage)));
                    cost = cost.map(|cost| rounded(cost + of_edit.unwrap_or_default()));
                }
                ConversationEdit::Cleared(entry) => shortened.push(entry.clone()),
                ConversationEdit::Compacted(entry) => summarised.push(entry.clone()),
            }
        }
        let summary = RunSummary {
            id: start.id,
            state,
            model: start.model.clone(),
            started: start.started.clone(),
            question: question(start),
            turns: run.turns.len(),
            calls: run.turns.iter().map(|turn| turn.message.tool_calls.len()).sum(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost,
            client: start.client.clone(),
            caller: start.caller.clone(),
            chat: start.chat.clone(),
            conversation: start.conversation.clone(),
            profile: start.profile.clone(),
            error: error.map(|error| redact::text(error).into_owned()),
        };
        let last = run.turns.last().filter(|turn| turn.message.tool_calls.is_empty());
        let last = last.filter(|_| state != RunState::Failed && run.partial.is_none());
        let answer = last.map(|turn| answer(start, &turn.message.content));
        Self {
            summary,
            settings: start.settings.clone(),
            answer,
            messages: messages(run),
            asked: Some(start.messages.len()),
            images: ImageCounts::of(run),
            partial: run.partial.as_deref().map(|said| redact::text(said).into_owned()),
            shortened,
            summarised,
            timeline: timeline(run),
        }
    }

    /// Returns the messages up to the question, and those that came after it.
    pub fn parts(&self) -> (&[Value], &[Value]) {
        let messages = self.messages.as_array().map(Vec::as_slice).unwrap_or_default();
        let last = || messages.iter().rposition(|message| message["role"] == "user");
        let asked = self.asked.unwrap_or_else(|| last().map_or(0, |last| last + 1));
        messages.split_at(asked.min(messages.len()))
    }

    /// Returns the entry of the list with `answer`, `messages`, `shortened` and `timeline`.
    pub fn to_json(&self) -> Value {
        let mut shown = json!(self.summary);
        shown["settings"] = json!(self.settings);
        shown["answer"] = json!(self.answer);
        shown["messages"] = self.messages.clone();
        if let Some(partial) = &self.partial {
            shown["partial"] = json!(partial);
        }
        shown["shortened"] = json!(self.shortened);
        if !self.summarised.is_empty() {
            shown["summarised"] = json!(self.summarised);
        }
        shown["timeline"] = self.timeline.clone();
        shown
    }
}

/// How many characters of the question are in the list.
const QUESTION: usize = 160;

/// Returns the beginning of the question, redacted; `None` if no user said anything.
fn question(start: &RunStart) -> Option<String> {
    let said = start.messages.iter().rev().find_map(|message| match message {
        Message::User(said) => Some(&said.content),
        _ => None,
    })?;
    // Redacted before it is cut: half a secret is not recognised.
    let said = redact::text(said);
    let mut line = String::new();
    for word in said.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(QUESTION) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    Some(line)
}

/// Returns the answer, redacted; if it has to fit a schema, without what the model wrote around it.
fn answer(start: &RunStart, said: &str) -> String {
    let schema = start.settings.options().ok().and_then(|options| options.answer);
    let answer = schema.and_then(|schema| schema.read(said).ok());
    redact::text(answer.as_deref().unwrap_or(said)).into_owned()
}

/// Returns the messages without what only providers read, redacted.
fn messages(run: &RecordedRun) -> Value {
    let mut messages = json!(run.messages());
    for message in messages.as_array_mut().into_iter().flatten() {
        if let Some(message) = message.as_object_mut() {
            message.retain(|key, _| !matches!(key.as_str(), "native" | "images" | "audio"));
        }
    }
    serde_json::from_str(&redact::value(&messages)).unwrap_or(Value::Null)
}

fn timeline(run: &RecordedRun) -> Value {
    let turns = run.turns.iter().map(|turn| {
        let calls = turn.message.tool_calls.iter().enumerate().map(|(position, call)| {
            let ended = turn.outcomes.get(&position);
            let outcome = match ended {
                Some(ended) => &*ended.outcome,
                None if turn.begun_calls.contains_key(&position) => "in flight",
                None => "not begun",
            };
            let call_id = ended.and_then(|ended| ended.call_id);
            let (at, elapsed) = (ended.map(|ended| ended.completed_at_ms), ended.map(|ended| ended.elapsed_ms));
            json!({
                "tool_call_id": call.id, "tool": call.name, "outcome": outcome, "call_id": call_id,
                "ended_ms": at, "duration_ms": elapsed,
            })
        });
        let calls: Vec<Value> = calls.collect();
        let Usage { input_tokens, output_tokens } = turn.usage;
        let mut shown = json!({
            "input_tokens": input_tokens, "output_tokens": output_tokens, "ended_ms": turn.completed_at_ms,
        });
        if let Some(price) = run.start.price {
            shown["cost"] = json!(price.cost(turn.usage));
        }
        shown["calls"] = calls.into();
        shown
    });
    turns.collect()
}

/// The second line of the file.
#[derive(Serialize, Deserialize)]
struct SavedRest {
    #[serde(default)]
    settings: RunSettings,
    answer: Option<String>,
    messages: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<usize>,
    #[serde(default)]
    images: ImageCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<String>,
    #[serde(default)]
    shortened: Vec<ShortenedResult>,
    #[serde(default)]
    summarised: Vec<SummarisedMessages>,
    timeline: Value,
}

/// Returns the content of the file of a run that has ended.
pub(super) fn text(run: &RunDetail) -> io::Result<String> {
    let run = run.clone();
    let rest = SavedRest {
        settings: run.settings,
        answer: run.answer,
        messages: run.messages,
        asked: run.asked,
        images: run.images,
        partial: run.partial,
        shortened: run.shortened,
        summarised: run.summarised,
        timeline: run.timeline,
    };
    let (summary, rest) = (serde_json::to_string(&run.summary)?, serde_json::to_string(&rest)?);
    Ok(format!("{summary}\n{rest}\n"))
}

/// Writes the file of a run that has ended, atomically; with `syncs`, it reaches the disk before it has its name.
pub(super) fn write(path: &Path, text: &str, syncs: bool) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private_files::create(&new)?;
    file.write_all(text.as_bytes())?;
    if syncs {
        file.sync_all()?;
    }
    fs::rename(&new, path)
}

/// Reads a whole file.
pub(super) fn read(path: &Path) -> io::Result<RunDetail> {
    let text = fs::read_to_string(path)?;
    let (summary, rest) = text.split_once('\n').unwrap_or((&text, "null"));
    let summary = serde_json::from_str(summary)?;
    let rest: SavedRest = serde_json::from_str(rest)?;
    Ok(RunDetail {
        summary,
        settings: rest.settings,
        answer: rest.answer,
        messages: rest.messages,
        asked: rest.asked,
        images: rest.images,
        partial: rest.partial,
        shortened: rest.shortened,
        summarised: rest.summarised,
        timeline: rest.timeline,
    })
}

/// Reads the first line.
pub(super) fn read_summary(path: &Path) -> io::Result<RunSummary> {
    let mut line = String::new();
    BufReader::new(fs::File::open(path)?).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
