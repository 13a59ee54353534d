//! What came of a call, whole: it is cut and shaped by whoever asked for it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::{Content, ErrorKind, Part, ToolError, ToolOutput, ToolResult};

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool's answer.
    Answer(Output),
    /// Why there is none.
    Failure(Failure),
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Any JSON.
    Value(Value),
    /// Content in parts, as MCP has it.
    Content {
        /// The parts.
        parts: Vec<Map<String, Value>>,
        /// What stands beside them.
        fields: Map<String, Value>,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Of which kind it is.
    pub kind: ErrorKind,
    /// What the model reads.
    pub text: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the tool answered all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

impl Outcome {
    /// As a tool returns it.
    ///
    /// # Errors
    /// The call failed.
    pub fn into_result(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Answer(output) => Ok(output.into()),
            Self::Failure(Failure { kind, text, hint, output }) => {
                let mut error = ToolError::new(kind, text);
                error.hint = hint;
                error.output = output.map(|output| Box::new(output.into()));
                Err(error)
            }
        }
    }
}

impl From<&ToolResult> for Outcome {
    fn from(result: &ToolResult) -> Self {
        match &result.outcome {
            Ok(answer) => Self::Answer(answer.output.clone().into()),
            Err(error) => Self::Failure(error.into()),
        }
    }
}

impl From<&ToolError> for Failure {
    fn from(error: &ToolError) -> Self {
        Self {
            kind: error.kind,
            text: error.for_model.clone(),
            hint: error.hint.clone(),
            output: error.output.as_deref().cloned().map(Into::into),
        }
    }
}

impl From<ToolOutput> for Output {
    fn from(output: ToolOutput) -> Self {
        match output {
            ToolOutput::Value(value) => Self::Value(value),
            ToolOutput::Content(Content { parts, fields }) => {
                Self::Content { parts: parts.into_iter().map(|part| part.0).collect(), fields }
            }
        }
    }
}

impl From<Output> for ToolOutput {
    fn from(output: Output) -> Self {
        match output {
            Output::Value(value) => Self::Value(value),
            Output::Content { parts, fields } => {
                Self::Content(Content { parts: parts.into_iter().map(Part).collect(), fields })
            }
        }
    }
}
