//! A request to run one tool.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ulid::{Generator, Ulid};

/// A request to run the tool `name` with `args`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the caller gave the call; it comes back as `tool_call_id`.
    pub id: String,
    /// The tool's name: `tool` or `server__tool`.
    pub name: String,
    /// The arguments: always an object, never JSON in a string.
    pub args: Map<String, Value>,
}

impl ToolCall {
    /// Creates a call without an id, as people and programs make them.
    pub fn new(name: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: String::new(), name: name.into(), args }
    }

    /// Sets the id that a model gave the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }
}

/// Identifies one execution: unique across processes, and sortable by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Ulid);

impl CallId {
    /// Creates an id, greater than every one that this process created before.
    pub fn generate() -> Self {
        Self::generate_at(SystemTime::now())
    }

    /// Like [`generate`](Self::generate), for callers that have the current time already.
    pub fn generate_at(now: SystemTime) -> Self {
        static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());
        let mut generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        // Only 2^80 ids within one millisecond would overflow.
        Self(generator.generate_from_datetime(now).unwrap_or_else(|_| Ulid::generate()))
    }

    /// Returns the id as a number.
    pub fn number(self) -> u128 {
        self.0.0
    }

    /// Parses an id as [`Display`](fmt::Display) writes it.
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

#[cfg(test)]
mod tests {
    use super::*;

    // RC-2
    #[test]
    fn ids_sort_by_time_and_read_back() {
        let ids: Vec<_> = (0..1000).map(|_| CallId::generate()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(CallId::parse(&ids[0].to_string()), Some(ids[0]));
        assert_eq!(CallId::parse("nonsense"), None);
    }
}
