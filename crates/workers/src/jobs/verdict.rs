//! What an attempt's result means for the call: an answer, or another attempt.

use switchboard_toolcall::ErrorKind;

/// What follows from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This is what came of the call.
    Answer,
    /// It is to be tried again.
    Again,
}

impl Verdict {
    /// Judges an attempt by the kind of its failure, if it failed. Where the call must not run twice, only what certainly
    /// did not run is tried again.
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
            let again = |kind: &ErrorKind| Verdict::of(Some(*kind), may_repeat) == Verdict::Again;
            kinds.filter(again).map(ErrorKind::code).collect()
        };
        let passing = ["timeout", "unavailable", "overloaded", "internal", "outcome_unknown"];
        assert_eq!(again(true), passing);
        assert_eq!(again(false), ["overloaded"]);
        assert_eq!(Verdict::of(None, true), Verdict::Answer);
    }
}
