//! Why a question cannot be laid down or answered.

use std::{
    io,
    path::{Path, PathBuf},
};

use switchboard_runtime::Ruling;
use switchboard_toolcall::BoxError;

use crate::question::Answer;

/// Why a question cannot be laid down or answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be used.
    #[error("failed to {what} `{}`", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file is not what we wrote.
    #[error("`{}` cannot be read", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The place could not do what it was asked for.
    #[error("{what}")]
    Place {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: BoxError,
    },
    /// There are no random numbers for an id.
    #[error("there are no random numbers for an id: {0}")]
    Random(getrandom::Error),
    /// Too many calls wait already.
    #[error("{0} calls wait for a person already")]
    TooMany(usize),
    /// One caller has too many calls that wait.
    #[error("{0} calls of this caller wait for a person already")]
    TooManyOfCaller(usize),
    /// No call waits under this id.
    #[error("no call waits for approval '{0}'")]
    Unknown(String),
    /// Several ids begin so.
    #[error("several approvals begin with '{id}': {}", found.join(", "))]
    Several {
        /// What was asked for.
        id: String,
        /// What it could be.
        found: Vec<String>,
    },
    /// Somebody was faster, or the time is over.
    #[error("approval '{id}' {}", outcome(answer))]
    Over {
        /// The id.
        id: String,
        /// What became of it.
        answer: Box<Answer>,
    },
    /// Who decides may be who asked.
    #[error(
        "approval '{0}' needs another pair of eyes (`[policy] four_eyes`): who asked cannot allow it; somebody else with a \
         token of `switchboard token new --approve` can"
    )]
    FourEyes(String),
    /// Only what is allowed can be remembered.
    #[error("a denial is not remembered; `[policy] deny` forbids a tool for good")]
    DenialForGood,
    /// It was decided, but not remembered.
    #[error("the call was allowed this once, but that could not be remembered")]
    NotRemembered(#[source] Box<Error>),
    /// There is no such rule.
    #[error("there is no rule '{0}'")]
    NoRule(String),
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { what, path: path.to_owned(), source }
    }
}

fn outcome(answer: &Answer) -> String {
    let by = answer.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    match answer.decision {
        Ruling::Allow => format!("was allowed already{by}"),
        Ruling::Deny => format!("was denied already{by}"),
        Ruling::Expired => "has expired".to_owned(),
        Ruling::Withdrawn => "is over: the call ended before somebody decided".to_owned(),
    }
}
