//! A request to run one tool.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ulid::Ulid;

/// A request to run the tool `name` with `args`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the asking side gave the call; it comes back as `tool_call_id`.
    pub id: String,
    /// The tool's name: `tool` or `server__tool`.
    pub name: String,
    /// The arguments: an object by construction, never JSON in a string.
    pub args: Map<String, Value>,
}

impl ToolCall {
    /// A call that nobody has given an id, as people and programs make them.
    pub fn new(name: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: String::new(), name: name.into(), args }
    }

    /// The same call under the id that a model gave it.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }
}

/// Names one execution: unique across processes, and sorts by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Ulid);

impl CallId {
    /// A fresh id.
    pub fn generate() -> Self {
        Self(Ulid::generate())
    }

    /// Reads an id as [`Display`](fmt::Display) writes it.
    pub fn parse(text: &str) -> Option<Self> {
        Ulid::from_string(text).ok().map(Self)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
