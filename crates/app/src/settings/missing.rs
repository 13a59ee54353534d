//! What `${…}` refers to and is not there.

use std::fmt::{self, Display};

/// A value that a config refers to and that is not there. What needs it is skipped, if that is possible (SPEC MC-8).
/// Displays as the reason: "the environment variable TOKEN is not set".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissingValue {
    /// An environment variable that is not set.
    Variable(String),
    /// An environment variable whose value is not valid Unicode.
    Unicode(String),
}

impl MissingValue {
    fn describe(&self, f: &mut fmt::Formatter<'_>, quote: &str) -> fmt::Result {
        let (name, problem) = match self {
            Self::Variable(name) => (name, "is not set"),
            Self::Unicode(name) => (name, "is not valid Unicode"),
        };
        write!(f, "the environment variable {quote}{name}{quote} {problem}")
    }
}

impl Display for MissingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f, "")
    }
}

/// Why a `${…}` cannot be filled in. Displays as an error of the config says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubstitutionError {
    /// It is written wrongly.
    Wrong(String),
    /// What it refers to is not there.
    Missing(MissingValue),
}

impl SubstitutionError {
    pub(super) fn wrong(what: impl Display) -> Self {
        Self::Wrong(what.to_string())
    }
}

impl Display for SubstitutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(what) => f.write_str(what),
            Self::Missing(missing) => missing.describe(f, "`"),
        }
    }
}
