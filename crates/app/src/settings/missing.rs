//! Values that `${…}` refers to and that are missing.

use std::{
    env::VarError,
    fmt::{self, Display},
};

/// A missing value that a config refers to. The server, model or tool that needs it is skipped, if possible (SPEC MC-8).
/// Displays as the reason: "the environment variable TOKEN is not set".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissingValue {
    /// An environment variable that is not set.
    Variable(String),
    /// An environment variable whose value is not valid Unicode.
    Unicode(String),
    /// A secret that is not in the vault.
    Secret(String),
    /// A secret that cannot be read, and why.
    Unreadable(String, String),
}

/// Why a variable or a secret has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LookupError {
    NotPresent,
    NotUnicode,
    /// The vault cannot be opened.
    Vault(String),
}

impl From<VarError> for LookupError {
    fn from(error: VarError) -> Self {
        match error {
            VarError::NotPresent => Self::NotPresent,
            VarError::NotUnicode(_) => Self::NotUnicode,
        }
    }
}

impl MissingValue {
    fn describe(&self, f: &mut fmt::Formatter<'_>, quote: &str) -> fmt::Result {
        match self {
            Self::Variable(name) => {
                write!(f, "the environment variable {quote}{name}{quote} is not set")
            }
            Self::Unicode(name) => {
                write!(f, "the environment variable {quote}{name}{quote} is not valid Unicode")
            }
            Self::Secret(name) => write!(
                f,
                "the secret {quote}{name}{quote} is not in the vault (`switchboard secret set {name}`)"
            ),
            Self::Unreadable(name, why) => {
                write!(f, "the secret {quote}{name}{quote} cannot be read: {why}")
            }
        }
    }
}

impl Display for MissingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f, "")
    }
}

/// Why a `${…}` cannot be filled in. Displays as the text of a config error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubstitutionError {
    /// Its syntax is wrong.
    Wrong(String),
    /// The value that it refers to is missing.
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
