//! The whole outcome of a call: the gateway normalises and truncates it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::{Content, ErrorKind, Part, ToolError, ToolOutput, ToolResult};

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireOutcome {
    /// The tool's output.
    Answer(WireOutput),
    /// The error.
    Failure(WireFailure),
}

/// A tool's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireOutput {
    /// Any JSON.
    Value(Value),
    /// Content parts, as in MCP.
    Content {
        /// The parts.
        parts: Vec<Map<String, Value>>,
        /// The other fields.
        fields: Map<String, Value>,
    },
}

/// The error of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireFailure {
    /// Its kind.
    pub kind: ErrorKind,
    /// What the model reads.
    pub text: String,
    /// The hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The tool's own error output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<WireOutput>,
}

impl WireOutcome {
    /// Converts it to what a tool returns.
    ///
    /// # Errors
    /// The call failed.
    pub(crate) fn into_result(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Answer(output) => Ok(output.into()),
            Self::Failure(WireFailure { kind, text, hint, output }) => {
                let mut error = ToolError::new(kind, text);
                error.hint = hint;
                error.output = output.map(|output| Box::new(output.into()));
                Err(error)
            }
        }
    }
}

impl From<&ToolResult> for WireOutcome {
    fn from(result: &ToolResult) -> Self {
        match &result.outcome {
            Ok(answer) => Self::Answer(answer.output.clone().into()),
            Err(error) => Self::Failure(error.into()),
        }
    }
}

impl From<&ToolError> for WireFailure {
    fn from(error: &ToolError) -> Self {
        Self {
            kind: error.kind,
            text: error.for_model.clone(),
            hint: error.hint.clone(),
            output: error.output.as_deref().cloned().map(Into::into),
        }
    }
}

impl From<ToolOutput> for WireOutput {
    fn from(output: ToolOutput) -> Self {
        match output {
            ToolOutput::Value(value) => Self::Value(value),
            ToolOutput::Content(Content { parts, fields }) => {
                Self::Content { parts: parts.into_iter().map(|part| part.0).collect(), fields }
            }
        }
    }
}

impl From<WireOutput> for ToolOutput {
    fn from(output: WireOutput) -> Self {
        match output {
            WireOutput::Value(value) => Self::Value(value),
            WireOutput::Content { parts, fields } => {
                Self::Content(Content { parts: parts.into_iter().map(Part).collect(), fields })
            }
        }
    }
}
