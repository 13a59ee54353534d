//! Decides what to do with a delivered call, from its state.

use std::time::Duration;

use switchboard_runtime::QueueState;
use switchboard_toolcall::ErrorKind;

use crate::{
    jobs::{Job, state::JobState},
    wire::WireFailure,
};

/// How often a call is delivered to workers without its tool before it fails.
const MOST_VISITS: u64 = 100;

/// What to do with a delivered call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttemptStep {
    /// Nothing: it has ended, or is a duplicate in the stream.
    Leave,
    /// Return it to the queue, for another worker.
    Later(Duration),
    /// It must not run twice and was started: its worker may still be running it.
    Watch,
    /// Cancellation was requested.
    Cancel,
    /// Fail it: it has no attempts left.
    Bury(WireFailure),
    /// Run it.
    Begin,
}

impl AttemptStep {
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
        // The worker that runs it reports its outcome first; cancellation comes second.
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
            // Short pauses first: another worker of the group may just be starting.
            _ => Self::Later(Duration::from_secs(delivered.clamp(1, 30))),
        }
    }
}

/// Returns the error of a call that must not run twice and whose worker went silent.
pub(crate) fn unknown(kept: &JobState) -> WireFailure {
    let text = format!(
        "Tool '{}' was running when its worker was lost; whether it happened is not known",
        kept.name
    );
    failure(ErrorKind::OutcomeUnknown, text)
}

/// Returns the error of a cancelled call.
pub(crate) fn cancelled(kept: &JobState) -> WireFailure {
    let effects = match kept.attempts {
        0 => " before it ran",
        _ => "; side effects may have happened",
    };
    failure(ErrorKind::Cancelled, format!("Tool '{}' was cancelled{effects}", kept.name))
}

fn lost(kept: &JobState) -> WireFailure {
    let text = format!(
        "Tool '{}' was begun {} times, and each time its worker was lost",
        kept.name, kept.attempts
    );
    failure(ErrorKind::Unavailable, text)
}

fn nobody_has_it(kept: &JobState) -> WireFailure {
    let text = format!("Tool '{}' was not run: no worker of '{}' has it", kept.name, kept.group);
    failure(ErrorKind::Unavailable, text)
}

fn failure(kind: ErrorKind, text: String) -> WireFailure {
    WireFailure { kind, text, hint: None, output: None }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use switchboard_toolcall::{CallContext, CallId};

    use super::*;
    use crate::wire::WorkerRequest;

    fn job(may_repeat: bool) -> Job {
        let cx = CallContext::default();
        let request = WorkerRequest::new(CallId::generate(), "resize", Map::new(), &cx);
        Job { name: "gpu__resize".to_owned(), group: "gpu".to_owned(), may_repeat, request }
    }

    /// What is to be done with a call that was changed so; it is message 7, and three attempts are the limit.
    fn step(
        may_repeat: bool,
        delivered: u64,
        has_tool: bool,
        change: impl Fn(&mut JobState),
    ) -> AttemptStep {
        let job = job(may_repeat);
        let mut kept = JobState::new(&job, 7);
        change(&mut kept);
        AttemptStep::of(&kept, &job, 7, delivered, has_tool, 3)
    }

    fn begun(times: u32) -> impl Fn(&mut JobState) {
        move |kept| (kept.state, kept.attempts) = (QueueState::Running, times)
    }

    #[test]
    fn a_call_is_begun_unless_something_speaks_against_it() {
        for may_repeat in [true, false] {
            assert_eq!(step(may_repeat, 1, true, |_| {}), AttemptStep::Begin);
            assert_eq!(step(may_repeat, 1, true, |kept| kept.attempts = 2), AttemptStep::Begin);
            assert_eq!(step(may_repeat, 1, true, |kept| kept.message = None), AttemptStep::Begin);
            assert_eq!(
                step(may_repeat, 9, true, |kept| kept.message = Some(8)),
                AttemptStep::Leave
            );
            assert_eq!(
                step(may_repeat, 1, true, |kept| kept.wants_cancel = true),
                AttemptStep::Cancel
            );
            for state in [QueueState::Done, QueueState::Dead, QueueState::Cancelled] {
                assert_eq!(
                    step(may_repeat, 1, true, |kept| kept.state = state),
                    AttemptStep::Leave
                );
            }
        }
    }

    #[test]
    fn what_was_begun_is_begun_again_only_where_that_does_no_harm() {
        assert_eq!(step(true, 2, true, begun(1)), AttemptStep::Begin);
        for times in [1, 3] {
            assert_eq!(step(false, 2, true, begun(times)), AttemptStep::Watch);
        }
    }

    #[test]
    fn the_last_attempt_is_the_last() {
        let AttemptStep::Bury(lost) = step(true, 4, true, begun(3)) else {
            panic!("it was tried enough")
        };
        assert_eq!(lost.kind, ErrorKind::Unavailable);
        let why = failure(ErrorKind::Timeout, "too slow".to_owned());
        let failed = step(true, 4, true, |kept| {
            kept.attempts = 3;
            kept.last_error = Some(why.clone());
        });
        assert_eq!(failed, AttemptStep::Bury(why.clone()));
    }

    #[test]
    fn without_the_tool_it_is_left_to_others_for_a_while() {
        assert_eq!(step(true, 1, false, |_| {}), AttemptStep::Later(Duration::from_secs(1)));
        assert_eq!(step(true, 99, false, |_| {}), AttemptStep::Later(Duration::from_secs(30)));
        assert!(matches!(step(true, 100, false, |_| {}), AttemptStep::Bury(_)));
    }
}
