//! What is to be done with a call that was delivered, decided from how it is.

use std::time::Duration;

use switchboard_runtime::QueueState;
use switchboard_toolcall::ErrorKind;

use crate::{
    jobs::{Job, state::Kept},
    wire::Failure,
};

/// How often a call is delivered to workers that do not have its tool, until it is given up.
const MOST_VISITS: i64 = 100;

/// What is to be done with a delivered call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing: it is over, or lies in the stream a second time.
    Leave,
    /// Another worker is to get it, after a while.
    Later(Duration),
    /// It must not run twice and was begun: whoever began it may still be at it.
    Watch,
    /// Somebody asked that it be given up.
    Cancel,
    /// It was tried often enough.
    Bury(Failure),
    /// It is to be run.
    Begin,
}

impl Step {
    pub(crate) fn of(
        kept: &Kept,
        job: &Job,
        number: u64,
        delivered: i64,
        has_tool: bool,
        most: u32,
    ) -> Self {
        let is_second = kept.message.is_some_and(|answerable| answerable != number);
        if kept.state.is_over() || is_second {
            return Self::Leave;
        }
        // Who can say what became of a run comes before who wants it to end.
        if kept.state == QueueState::Running && !job.may_repeat {
            return Self::Watch;
        }
        if kept.wants_cancel {
            return Self::Cancel;
        }
        if kept.attempts >= most {
            let lost = || lost(kept);
            let failed = kept.last_error.clone().filter(|_| kept.state == QueueState::Queued);
            return Self::Bury(failed.unwrap_or_else(lost));
        }
        if has_tool {
            return Self::Begin;
        }
        match delivered {
            MOST_VISITS.. => Self::Bury(nobody_has_it(kept)),
            // Soon at first: most groups are of equals, and one of them is only just up.
            _ => {
                Self::Later(Duration::from_secs(u64::try_from(delivered.clamp(1, 30)).unwrap_or(1)))
            }
        }
    }
}

/// The end of a call that must not run twice, whose worker went silent.
pub(crate) fn unknown(kept: &Kept) -> Failure {
    let text = format!(
        "Tool '{}' was running when its worker was lost; whether it happened is not known",
        kept.name
    );
    failure(ErrorKind::OutcomeUnknown, text)
}

/// The end of a call that nobody wants any more.
pub(crate) fn cancelled(kept: &Kept) -> Failure {
    let effects = match kept.attempts {
        0 => "before it ran",
        _ => "; side effects may have happened",
    };
    let text = format!("Tool '{}' was cancelled {effects}", kept.name);
    failure(ErrorKind::Cancelled, text.replace(" ;", ";"))
}

fn lost(kept: &Kept) -> Failure {
    let text = format!(
        "Tool '{}' was begun {} times, and each time its worker was lost",
        kept.name, kept.attempts
    );
    failure(ErrorKind::Unavailable, text)
}

fn nobody_has_it(kept: &Kept) -> Failure {
    let text = format!("Tool '{}' was not run: no worker of '{}' has it", kept.name, kept.group);
    failure(ErrorKind::Unavailable, text)
}

fn failure(kind: ErrorKind, text: String) -> Failure {
    Failure { kind, text, hint: None, output: None }
}
