//! Why a call cannot be held or decided.

use std::{
    io,
    path::{Path, PathBuf},
};

use switchboard_runtime::Ruling;
use switchboard_toolcall::BoxError;

use crate::approval::ApprovalOutcome;

/// Why a call cannot be held or decided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("failed to {what} `{}`", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file has an unexpected content.
    #[error("`{}` cannot be read", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The store failed.
    #[error("{what}")]
    Store {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: BoxError,
    },
    /// The system has no random numbers for an id.
    #[error("there are no random numbers for an id: {0}")]
    Random(getrandom::Error),
    /// Too many calls wait.
    #[error("{0} calls wait for a person already")]
    TooMany(usize),
    /// Too many calls of one caller wait.
    #[error("{0} calls of this caller wait for a person already")]
    TooManyOfCaller(usize),
    /// No call waits under this id.
    #[error("no call waits for approval '{0}'")]
    Unknown(String),
    /// Several ids have this prefix.
    #[error("several approvals begin with '{id}': {}", found.join(", "))]
    Ambiguous {
        /// The prefix.
        id: String,
        /// The ids.
        found: Vec<String>,
    },
    /// It was decided already, has expired, or was withdrawn.
    #[error("approval '{id}' {}", outcome_text(outcome))]
    Closed {
        /// The id.
        id: String,
        /// How it ended.
        outcome: Box<ApprovalOutcome>,
    },
    /// The decider may be the caller itself.
    #[error(
        "approval '{0}' needs another pair of eyes (`[policy] four_eyes`): who asked cannot allow it; somebody else with a \
         token of `switchboard token new --approve` can"
    )]
    FourEyes(String),
    /// Only permissions can be remembered.
    #[error("a denial is not remembered; `[policy] deny` forbids a tool for good")]
    RememberedDenial,
    /// It was decided, but the rule could not be stored.
    #[error("the call was allowed this once, but that could not be remembered")]
    NotRemembered(#[source] Box<Error>),
    /// No rule has this id.
    #[error("there is no rule '{0}'")]
    UnknownRule(String),
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { what, path: path.to_owned(), source }
    }
}

fn outcome_text(outcome: &ApprovalOutcome) -> String {
    let by = outcome.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    match outcome.decision {
        Ruling::Allow => format!("was allowed already{by}"),
        Ruling::Deny => format!("was denied already{by}"),
        Ruling::Expired => "has expired".to_owned(),
        Ruling::Withdrawn => "is over: the call ended before somebody decided".to_owned(),
    }
}
