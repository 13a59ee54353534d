//! The result of one execution: one value, three views (SPEC RS-3).

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{CallId, ErrorKind, ToolError, ToolOutput, text::one_line};

/// What came of one call. Serializes as the envelope of SPEC §6.
#[derive(Debug)]
pub struct ToolResult {
    /// The id of this execution; records carry it too.
    pub call_id: CallId,
    /// The id that the asking side gave the call.
    pub tool_call_id: String,
    /// The name that was asked for.
    pub tool_name: Arc<str>,
    /// The server that the tool belongs to, where it belongs to one.
    pub server: Option<Arc<str>>,
    /// How long the call took from the moment it was asked for, without [`waited`](Self::waited).
    pub elapsed: Duration,
    /// How long a person took to decide about the call; zero if none was asked.
    pub waited: Duration,
    /// The answer, or what went wrong.
    pub outcome: Result<Answer, ToolError>,
    /// Whether text was cut; the whole of the envelope's `result`, or of its `error`, is then `artifacts[0]`.
    pub truncated: bool,
    /// What is kept beside the result: whole texts and binaries.
    pub artifacts: Vec<Artifact>,
    /// Why the tool did not run for this call, where an answer was there already.
    pub reused: Option<Reused>,
}

/// Where an answer comes from when the tool did not run for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reused {
    /// An earlier call with the same idempotency key.
    Replayed,
    /// An earlier call of a tool whose answers may be kept for a while.
    Cached,
    /// An identical call that was under way.
    Shared,
}

impl Reused {
    /// The stable code, which is the envelope's field too.
    pub fn code(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Cached => "cached",
            Self::Shared => "shared",
        }
    }
}

/// A successful answer, bounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer for those who take every kind of content; only its text is bounded.
    pub output: ToolOutput,
    /// What programs get in its place (the envelope, records), if that differs: bounded, and without binaries.
    pub shown: Option<ToolOutput>,
    /// What models and people read, if it is not the text of what programs get.
    pub text: Option<String>,
}

impl Answer {
    /// The answer as programs get it, in the envelope and in records: bounded, and without binaries.
    pub fn shown(&self) -> &ToolOutput {
        self.shown.as_ref().unwrap_or(&self.output)
    }

    /// Returns what models and people read (SPEC RS-3): just the text, bounded.
    pub fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| self.shown().text())
    }
}

impl ToolResult {
    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The kind of failure, if it failed.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        self.outcome.as_ref().err().map(|error| error.kind)
    }

    /// `ok`, or the code of the failure: what records and metrics call the outcome.
    pub fn outcome_code(&self) -> &'static str {
        self.error_kind().map_or("ok", ErrorKind::code)
    }

    /// Returns what models and people read (SPEC RS-3): just the text; of a failure its words, and the required parameters
    /// if arguments were wrong.
    pub fn text(&self) -> String {
        match &self.outcome {
            Ok(answer) => answer.text(),
            Err(error) => error.text(),
        }
    }

    /// Returns what models and people read of a success, unless that is the envelope's `result` already: a string, or a
    /// value that is no MCP result.
    pub fn text_beside_result(&self) -> Option<String> {
        let answer = self.outcome.as_ref().ok()?;
        let is_result = match answer.shown() {
            ToolOutput::Value(_) => answer.text.is_none(),
            ToolOutput::Content(content) => content.only_text().is_some(),
        };
        (!is_result).then(|| answer.text())
    }

    /// The message that goes back to the model.
    pub fn message(&self) -> ToolMessage {
        let content = match &self.outcome {
            Ok(answer) => answer.text(),
            Err(error) if error.output.is_some() => error.for_model.clone(),
            Err(error) if error.kind == ErrorKind::NotFound => self.unknown_tool(error),
            Err(error) => format!("Error: {}", error.text()),
        };
        ToolMessage {
            content,
            tool_call_id: self.tool_call_id.clone(),
            is_error: self.outcome.is_err(),
        }
    }

    fn unknown_tool(&self, error: &ToolError) -> String {
        let hint = error.hint.as_deref();
        let (line, hint) = hint.map_or(("", ""), |hint| ("\n", hint));
        format!("Error: Unknown tool \"{}\"{line}{hint}", self.tool_name)
    }

    /// The duration in the unit of the contract.
    pub fn execution_time_ms(&self) -> f64 {
        milliseconds(self.elapsed)
    }

    /// The value that the envelope calls `result`, if the call succeeded.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        let answer = self.outcome.as_ref().ok()?;
        Some(match answer.shown() {
            ToolOutput::Value(value) => Cow::Borrowed(value),
            ToolOutput::Content(content) => Cow::Owned(match content.only_text() {
                Some(text) => Value::String(text.into_owned()),
                None => serde_json::to_value(content).unwrap_or_default(),
            }),
        })
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut envelope = serializer.serialize_map(None)?;
        envelope.serialize_entry("success", &self.is_success())?;
        match &self.outcome {
            Ok(answer) => envelope.serialize_entry("result", &Shown(answer.shown()))?,
            Err(error) => envelope.serialize_entry("error", &error.for_model)?,
        }
        envelope.serialize_entry("tool_name", &*self.tool_name)?;
        envelope.serialize_entry("execution_time_ms", &self.execution_time_ms())?;
        if !self.waited.is_zero() {
            envelope.serialize_entry("waited_ms", &milliseconds(self.waited))?;
        }
        envelope.serialize_entry("call_id", &self.call_id)?;
        if let Err(error) = &self.outcome {
            envelope.serialize_entry("error_kind", &error.kind)?;
            if let Some(hint) = &error.hint {
                envelope.serialize_entry("hint", hint)?;
            }
        }
        if self.truncated {
            envelope.serialize_entry("truncated", &true)?;
        }
        if !self.artifacts.is_empty() {
            envelope.serialize_entry("artifacts", &self.artifacts)?;
        }
        if let Some(reused) = self.reused {
            envelope.serialize_entry(reused.code(), &true)?;
        }
        if let Some(server) = &self.server {
            envelope.serialize_entry("server", &**server)?;
        }
        envelope.end()
    }
}

/// Divides whole nanoseconds once, which gives the shortest decimal.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// Serializes an output as the envelope's `result`, without building the value first.
struct Shown<'a>(&'a ToolOutput);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ToolOutput::Value(value) => value.serialize(serializer),
            ToolOutput::Content(content) => match content.only_text() {
                Some(text) => serializer.serialize_str(&text),
                None => content.serialize(serializer),
            },
        }
    }
}

/// Something kept beside a result, to be read by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// What `read_result` takes.
    pub id: String,
    /// `text`, `image`, `audio` or `blob`.
    pub kind: String,
    /// The media type.
    pub media_type: String,
    /// The size in bytes.
    pub size: u64,
}

impl fmt::Display for Artifact {
    /// The line that stands in a text where the binary was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, media_type, size } = self;
        write!(f, "[{kind}: {}, {size} bytes, artifact {id}]", one_line(media_type))
    }
}

/// The answer to one call in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// What the model reads.
    pub content: String,
    /// The call that this answers.
    pub tool_call_id: String,
    /// Whether the call failed.
    pub is_error: bool,
}
