//! The result of one execution: one value, three views (SPEC RS-3).

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{CallId, ErrorKind, ToolError, ToolOutput, text::one_line};

/// The result of one call. Serializes as the envelope of SPEC §6.
#[derive(Debug)]
pub struct ToolResult {
    /// The id of this execution, as in its record.
    pub call_id: CallId,
    /// The id that the caller gave the call.
    pub tool_call_id: String,
    /// The tool name that the caller used.
    pub tool_name: Arc<str>,
    /// The tool's server, if it has one.
    pub server: Option<Arc<str>>,
    /// How long the call took since it was made, without [`waited`](Self::waited).
    pub elapsed: Duration,
    /// How long a person took to decide about the call; zero if nobody was asked.
    pub waited: Duration,
    /// The output, or the error.
    pub outcome: Result<BoundedOutput, ToolError>,
    /// Whether text was truncated; the whole of the envelope's `result` or `error` is then `artifacts[0]`.
    pub truncated: bool,
    /// What is stored besides the result: whole texts and binaries.
    pub artifacts: Vec<Artifact>,
    /// Why the tool did not run for this call, if the result was reused.
    pub reused: Option<ReuseReason>,
}

/// Where a result comes from if the tool did not run for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReuseReason {
    /// An earlier call with the same idempotency key.
    Replayed,
    /// An earlier call of a tool whose results may be cached.
    Cached,
    /// An identical call that was in flight.
    Shared,
}

impl ReuseReason {
    /// Returns the stable code, which is also the envelope's field.
    pub fn code(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Cached => "cached",
            Self::Shared => "shared",
        }
    }
}

/// The output of a successful call, limited in size.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedOutput {
    /// The output for MCP clients, which take every kind of content; only its text is truncated.
    pub output: ToolOutput,
    /// What programs get instead (envelope, records), if that differs: truncated, and without binaries.
    pub for_programs: Option<ToolOutput>,
    /// What models and people read, if it is not the text of what programs get.
    pub text: Option<String>,
}

impl BoundedOutput {
    /// Returns the output as programs get it, in the envelope and in records: truncated, and without binaries.
    pub fn for_programs(&self) -> &ToolOutput {
        self.for_programs.as_ref().unwrap_or(&self.output)
    }

    /// Returns what models and people read (SPEC RS-3): the text, truncated.
    pub fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| self.for_programs().text())
    }
}

impl ToolResult {
    /// Returns whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    /// Returns the kind of error, if the call failed.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        self.outcome.as_ref().err().map(|error| error.kind)
    }

    /// Returns `ok` or the code of the error, as in records and metrics.
    pub fn outcome_code(&self) -> &'static str {
        self.error_kind().map_or("ok", ErrorKind::code)
    }

    /// Returns what models and people read (SPEC RS-3): the text, or the error message, with the required parameters if
    /// arguments were invalid.
    pub fn text(&self) -> String {
        match &self.outcome {
            Ok(answer) => answer.text(),
            Err(error) => error.text(),
        }
    }

    /// Returns what models and people read of a success, unless that is the envelope's `result` already: a string, or a
    /// value that is not an MCP result.
    pub fn text_beside_result(&self) -> Option<String> {
        let answer = self.outcome.as_ref().ok()?;
        let is_result = match answer.for_programs() {
            ToolOutput::Value(_) => answer.text.is_none(),
            ToolOutput::Content(content) => content.only_text().is_some(),
        };
        (!is_result).then(|| answer.text())
    }

    /// Returns the message that goes back to the model.
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

    /// Returns the duration in milliseconds, as the envelope has it.
    pub fn execution_time_ms(&self) -> f64 {
        milliseconds(self.elapsed)
    }

    /// Returns the envelope's `result`, if the call succeeded.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        let answer = self.outcome.as_ref().ok()?;
        Some(match answer.for_programs() {
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
            Ok(answer) => {
                envelope.serialize_entry("result", &EnvelopeOutput(answer.for_programs()))?
            }
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
struct EnvelopeOutput<'a>(&'a ToolOutput);

impl Serialize for EnvelopeOutput<'_> {
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

/// Something stored besides a result, to be read by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// The id, for `read_result`.
    pub id: String,
    /// `text`, `image`, `audio` or `blob`.
    pub kind: String,
    /// The media type.
    pub media_type: String,
    /// The size in bytes.
    pub size: u64,
}

impl fmt::Display for Artifact {
    /// Writes the line that replaces a binary in a text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, media_type, size } = self;
        write!(f, "[{kind}: {}, {size} bytes, artifact {id}]", one_line(media_type))
    }
}

/// A tool's reply in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// What the model reads.
    pub content: String,
    /// The id of the call.
    pub tool_call_id: String,
    /// Whether the call failed.
    pub is_error: bool,
}
