//! Answers that a mock gives to certain arguments: `mock_responses`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::{ErrorKind, ToolError};

use super::{
    DefinitionError,
    reading::{json_object, present},
};

/// What a mock answers to these arguments: a response or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockResponse {
    /// The arguments; the order of keys and `3.0` for `3` make no difference, `"[redacted]"` is any value.
    #[serde(default, deserialize_with = "json_object")]
    pub args: Map<String, Value>,
    /// The answer; null is an answer too.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// The failure, in place of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<MockError>,
}

/// A failure that a mock answers with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockError {
    /// The kind of failure.
    #[serde(default = "tool_error")]
    pub kind: ErrorKind,
    /// What the model reads.
    pub text: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

fn tool_error() -> ErrorKind {
    ErrorKind::ToolError
}

impl MockResponse {
    /// Checks that it is a response or an error.
    pub(super) fn check(&self, tool: &str, number: usize) -> Result<(), DefinitionError> {
        match (&self.response, &self.error) {
            (Some(_), Some(_)) | (None, None) => {
                Err(DefinitionError::ResponseOrError { tool: tool.to_owned(), number })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn outcome(&self) -> Result<Value, MockError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(self.response.clone().unwrap_or_default()),
        }
    }
}

impl MockError {
    /// The failure as a call's.
    pub(crate) fn to_error(&self) -> ToolError {
        let error = ToolError::new(self.kind, &self.text);
        match &self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
