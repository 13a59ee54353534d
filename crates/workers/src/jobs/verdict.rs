//! Decides whether an attempt's result is final or the call is retried.

use switchboard_toolcall::ErrorKind;

/// What follows from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptVerdict {
    /// The result is final.
    Answer,
    /// The call is retried.
    Again,
}

impl AttemptVerdict {
    /// Decides by the kind of error, if the attempt failed. A call that must not run twice is retried only if it
    /// certainly did not run.
    pub(crate) fn of(failure: Option<ErrorKind>, may_repeat: bool) -> Self {
        use ErrorKind as Kind;
        match failure {
            Some(Kind::Overloaded) => Self::Again,
            Some(Kind::Unavailable | Kind::Timeout | Kind::Internal | Kind::OutcomeUnknown)
                if may_repeat =>
            {
                Self::Again
            }
            _ => Self::Answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let again = |may_repeat| -> Vec<_> {
            let kinds = ErrorKind::ALL.iter().copied();
            let again = |kind: &ErrorKind| {
                AttemptVerdict::of(Some(*kind), may_repeat) == AttemptVerdict::Again
            };
            kinds.filter(again).map(ErrorKind::code).collect()
        };
        let passing = ["timeout", "unavailable", "overloaded", "internal", "outcome_unknown"];
        assert_eq!(again(true), passing);
        assert_eq!(again(false), ["overloaded"]);
        assert_eq!(AttemptVerdict::of(None, true), AttemptVerdict::Answer);
    }
}
