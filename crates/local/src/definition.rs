//! Tools as the config defines them: `[[tools]]` (SPEC §7, §13).

mod response;

use std::{num::NonZeroUsize, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value, json};
use switchboard_toolcall::{Annotations, HumanDuration, Size, Tool, ToolSettings, ToolSpec};

use crate::{HandlerKind, Handlers, handled::HandledTool, mock::MockTool, responses::Responses};

pub use response::{MockError, MockResponse};

#[cfg(test)]
mod tests;

/// A tool as the config defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name that models call.
    pub name: String,
    /// What it does, for models and people.
    pub description: String,
    /// The JSON Schema of its arguments; none are declared by default.
    #[serde(default = "no_parameters", deserialize_with = "json_value")]
    pub parameters: Value,
    /// What a call of it does.
    pub implementation: Implementation,
    /// What it may do to the world.
    #[serde(default)]
    pub annotations: Annotations,
    /// Its own time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// How many characters of its result are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<Size>,
    /// How many calls of it may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<NonZeroUsize>,
    /// How long an answer may be given again without running the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<HumanDuration>,
}

/// What a call of a defined tool does; which field goes with which type is checked by
/// [`ToolDefinition::check`].
// A tagged enum would say that in types, but serde buffers those and loses the digits of large numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Implementation {
    /// Where the answer comes from.
    #[serde(rename = "type")]
    pub kind: ImplementationType,
    /// The registered function, for `builtin` and `internal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// The answer, for `mock`; null is an answer too.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub mock_response: Option<Value>,
    /// The answers to certain arguments, for `mock`; `mock_response` answers all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mock_responses: Vec<MockResponse>,
}

/// Where the answers of a defined tool come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImplementationType {
    /// The definition itself holds the answer.
    Mock,
    /// One of Switchboard's functions.
    Builtin,
    /// A service of the host application.
    Internal,
}

/// A definition that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A mock that does not say what it answers.
    #[error("tool `{tool}`: a mock needs `mock_response`")]
    NoResponse {
        /// The defined tool.
        tool: String,
    },
    /// A mock that names a handler.
    #[error("tool `{tool}`: `handler` is only for builtin and internal")]
    HandlerOfMock {
        /// The defined tool.
        tool: String,
    },
    /// A handler is asked for, but not named.
    #[error("tool `{tool}`: type `{kind}` needs `handler`")]
    NoHandler {
        /// The defined tool.
        tool: String,
        /// The kind of handler it asks for.
        kind: HandlerKind,
    },
    /// Both a handler and a fixed answer.
    #[error("tool `{tool}`: `mock_response` is only for mock")]
    ResponseOfHandler {
        /// The defined tool.
        tool: String,
    },
    /// Both a handler and answers to certain arguments.
    #[error("tool `{tool}`: `mock_responses` is only for mock")]
    ResponsesOfHandler {
        /// The defined tool.
        tool: String,
    },
    /// An answer to certain arguments that is none, or two.
    #[error("tool `{tool}`: `mock_responses[{number}]` needs `response` or `error`, one of them")]
    ResponseOrError {
        /// The defined tool.
        tool: String,
        /// Which answer, from 0.
        number: usize,
    },
}

/// A checked implementation.
enum Answer<'a> {
    Mocked(&'a Implementation),
    By(HandlerKind, &'a str),
}

impl ToolDefinition {
    /// Makes the tool.
    ///
    /// The handler is looked up at each call, so it may be registered later; one that does not exist is
    /// the call's error (SPEC LT-2).
    ///
    /// # Errors
    /// The definition contradicts itself, as [`check`](Self::check) says.
    pub fn into_tool(self, handlers: &Handlers) -> Result<Arc<dyn Tool>, DefinitionError> {
        let spec = self.spec();
        Ok(match self.answer()? {
            Answer::Mocked(Implementation { mock_response, mock_responses, .. }) => {
                let responses = Responses::new(mock_responses);
                Arc::new(MockTool::new(spec, responses, mock_response.clone()))
            }
            Answer::By(kind, name) => {
                Arc::new(HandledTool::new(spec, kind, name, handlers.clone()))
            }
        })
    }

    /// Checks that type, handler and response fit each other.
    ///
    /// # Errors
    /// Says which of them is missing or too many.
    pub fn check(&self) -> Result<(), DefinitionError> {
        self.answer().map(drop)
    }

    /// The handler that the definition asks for and that is not registered, if so.
    pub fn missing_handler(&self, handlers: &Handlers) -> Option<(HandlerKind, &str)> {
        match self.answer() {
            Ok(Answer::By(kind, name)) if handlers.lookup(kind, name).is_none() => {
                Some((kind, name))
            }
            _ => None,
        }
    }

    fn answer(&self) -> Result<Answer<'_>, DefinitionError> {
        let tool = || self.name.clone();
        let Implementation { kind, handler, mock_response, mock_responses } = &self.implementation;
        let kind = match kind {
            ImplementationType::Mock => {
                for (number, response) in mock_responses.iter().enumerate() {
                    response.check(&self.name, number)?;
                }
                return match (mock_response, handler) {
                    (_, Some(_)) => Err(DefinitionError::HandlerOfMock { tool: tool() }),
                    (None, None) if mock_responses.is_empty() => {
                        Err(DefinitionError::NoResponse { tool: tool() })
                    }
                    (_, None) => Ok(Answer::Mocked(&self.implementation)),
                };
            }
            ImplementationType::Builtin => HandlerKind::Builtin,
            ImplementationType::Internal => HandlerKind::Internal,
        };
        if !mock_responses.is_empty() {
            return Err(DefinitionError::ResponsesOfHandler { tool: tool() });
        }
        match (handler, mock_response) {
            (_, Some(_)) => Err(DefinitionError::ResponseOfHandler { tool: tool() }),
            (None, None) => Err(DefinitionError::NoHandler { tool: tool(), kind }),
            (Some(name), None) => Ok(Answer::By(kind, name)),
        }
    }

    pub(crate) fn spec(&self) -> ToolSpec {
        let as_usize = |Size(size)| usize::try_from(size).unwrap_or(usize::MAX);
        ToolSpec {
            annotations: self.annotations,
            settings: ToolSettings {
                timeout: self.timeout.map(|HumanDuration(timeout)| timeout),
                max_output: self.max_output.map(as_usize),
                max_concurrent: self.max_concurrent.map(NonZeroUsize::get),
                cache: self.cache.map(|HumanDuration(time)| time),
                ..ToolSettings::default()
            },
            ..ToolSpec::new(&self.name, &self.description, self.parameters.clone())
        }
    }
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Reads a value that is there, null included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    json_value(deserializer).map(Some)
}

fn json_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    match json_value(deserializer)? {
        Value::Object(object) => Ok(object),
        _ => Err(D::Error::custom("expected a table of arguments")),
    }
}

fn json_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer).map(plain_dates)
}

/// TOML hands its dates over as a table with this one key; people who write a date mean its text.
const TOML_DATE: &str = "$__toml_private_datetime";

fn plain_dates(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.len() == 1 && object.contains_key(TOML_DATE) => {
            object.remove(TOML_DATE).unwrap_or_default()
        }
        Value::Object(object) => {
            let entries = object.into_iter().map(|(key, value)| (key, plain_dates(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(plain_dates).collect(),
        other => other,
    }
}
