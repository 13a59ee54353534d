//! What is to be done with a call that was delivered, decided from how it is.

use std::time::Duration;

use switchboard_runtime::QueueState;
use switchboard_toolcall::ErrorKind;

use crate::{
    jobs::{Job, state::JobState},
    wire::Failure,
};

/// How often a call is delivered to workers that do not have its tool, until it is given up.
const MOST_VISITS: u64 = 100;

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
        kept: &JobState,
        job: &Job,
        number: u64,
        delivered: u64,
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
            _ => Self::Later(Duration::from_secs(delivered.clamp(1, 30))),
        }
    }
}

/// The end of a call that must not run twice, whose worker went silent.
pub(crate) fn unknown(kept: &JobState) -> Failure {
    let text = format!(
        "Tool '{}' was running when its worker was lost; whether it happened is not known",
        kept.name
    );
    failure(ErrorKind::OutcomeUnknown, text)
}

/// The end of a call that nobody wants any more.
pub(crate) fn cancelled(kept: &JobState) -> Failure {
    let effects = match kept.attempts {
        0 => " before it ran",
        _ => "; side effects may have happened",
    };
    failure(ErrorKind::Cancelled, format!("Tool '{}' was cancelled{effects}", kept.name))
}

fn lost(kept: &JobState) -> Failure {
    let text = format!(
        "Tool '{}' was begun {} times, and each time its worker was lost",
        kept.name, kept.attempts
    );
    failure(ErrorKind::Unavailable, text)
}

fn nobody_has_it(kept: &JobState) -> Failure {
    let text = format!("Tool '{}' was not run: no worker of '{}' has it", kept.name, kept.group);
    failure(ErrorKind::Unavailable, text)
}

fn failure(kind: ErrorKind, text: String) -> Failure {
    Failure { kind, text, hint: None, output: None }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use switchboard_toolcall::{CallContext, CallId};

    use super::*;
    use crate::wire::Request;

    fn job(may_repeat: bool) -> Job {
        let cx = CallContext::default();
        let request = Request::new(CallId::generate(), "resize", Map::new(), &cx);
        Job { name: "gpu__resize".to_owned(), group: "gpu".to_owned(), may_repeat, request }
    }

    /// What is to be done with a call that was changed so; it is message 7, and three attempts are the limit.
    fn step(
        may_repeat: bool,
        delivered: u64,
        has_tool: bool,
        change: impl Fn(&mut JobState),
    ) -> Step {
        let job = job(may_repeat);
        let mut kept = JobState::new(&job, 7);
        change(&mut kept);
        Step::of(&kept, &job, 7, delivered, has_tool, 3)
    }

    fn begun(times: u32) -> impl Fn(&mut JobState) {
        move |kept| (kept.state, kept.attempts) = (QueueState::Running, times)
    }

    #[test]
    fn a_call_is_begun_unless_something_speaks_against_it() {
        for may_repeat in [true, false] {
            assert_eq!(step(may_repeat, 1, true, |_| {}), Step::Begin);
            assert_eq!(step(may_repeat, 1, true, |kept| kept.attempts = 2), Step::Begin);
            assert_eq!(step(may_repeat, 1, true, |kept| kept.message = None), Step::Begin);
            assert_eq!(step(may_repeat, 9, true, |kept| kept.message = Some(8)), Step::Leave);
            assert_eq!(step(may_repeat, 1, true, |kept| kept.wants_cancel = true), Step::Cancel);
            for state in [QueueState::Done, QueueState::Dead, QueueState::Cancelled] {
                assert_eq!(step(may_repeat, 1, true, |kept| kept.state = state), Step::Leave);
            }
        }
    }

    #[test]
    fn what_was_begun_is_begun_again_only_where_that_does_no_harm() {
        assert_eq!(step(true, 2, true, begun(1)), Step::Begin);
        for times in [1, 3] {
            assert_eq!(step(false, 2, true, begun(times)), Step::Watch);
        }
    }

    #[test]
    fn the_last_attempt_is_the_last() {
        let Step::Bury(lost) = step(true, 4, true, begun(3)) else { panic!("it was tried enough") };
        assert_eq!(lost.kind, ErrorKind::Unavailable);
        let why = failure(ErrorKind::Timeout, "too slow".to_owned());
        let failed = step(true, 4, true, |kept| {
            kept.attempts = 3;
            kept.last_error = Some(why.clone());
        });
        assert_eq!(failed, Step::Bury(why.clone()));
    }

    #[test]
    fn without_the_tool_it_is_left_to_others_for_a_while() {
        assert_eq!(step(true, 1, false, |_| {}), Step::Later(Duration::from_secs(1)));
        assert_eq!(step(true, 99, false, |_| {}), Step::Later(Duration::from_secs(30)));
        assert!(matches!(step(true, 100, false, |_| {}), Step::Bury(_)));
    }
}
