//! How long each stage of a call took.

use std::{sync::OnceLock, time::Duration};

use tokio::time::Instant;

/// How long each stage took, in call order; zero if a stage was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Opening the record.
    pub open: Duration,
    /// Finding the tool, including connecting to its server.
    pub lookup: Duration,
    /// Argument names, validation and policy.
    pub check: Duration,
    /// Waiting for a slot.
    pub wait: Duration,
    /// The tool itself.
    pub run: Duration,
    /// Truncating the result and storing the rest.
    pub shape: Duration,
}

/// When each stage of a call ended.
pub(super) struct StageMarks {
    pub(super) started: Instant,
    pub(super) opened: Option<Instant>,
    pub(super) found: Option<Instant>,
    pub(super) checked: Option<Instant>,
    pub(super) dispatched: OnceLock<Instant>,
    pub(super) ended: Option<Instant>,
}

impl StageMarks {
    /// Starts when the call was made: now, unless `asked` says otherwise.
    pub(super) fn since(asked: Option<Instant>) -> Self {
        Self {
            started: asked.unwrap_or_else(Instant::now),
            opened: None,
            found: None,
            checked: None,
            dispatched: OnceLock::new(),
            ended: None,
        }
    }

    /// Returns the stages up to now, without the time that a person took to decide (`held`) or to answer questions
    /// (`asked`). The stage in which a call ends early gets the remaining time.
    pub(super) fn stages(&self, held: Duration, asked: Duration) -> Stages {
        let now = Instant::now();
        let ended = self.ended.unwrap_or(now);
        let mut from = self.started;
        let mut until = |mark: Option<Instant>, reached: bool| {
            let mark = mark.unwrap_or(ended);
            let took = if reached { mark.saturating_duration_since(from) } else { Duration::ZERO };
            from = mark;
            took
        };
        let dispatched = self.dispatched.get().copied();
        Stages {
            open: until(self.opened, true),
            lookup: until(self.found, self.opened.is_some()),
            check: until(self.checked, self.found.is_some()).saturating_sub(held),
            wait: until(dispatched, self.checked.is_some()),
            run: until(None, dispatched.is_some()).saturating_sub(asked),
            shape: now.saturating_duration_since(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_stages_add_up_to_the_whole() {
        let after = |millis| tokio::time::advance(Duration::from_millis(millis));
        let mut marks = StageMarks::since(None);
        after(1).await;
        marks.opened = Some(Instant::now());
        after(2).await;
        marks.found = Some(Instant::now());
        after(4).await;
        let early = marks.stages(Duration::ZERO, Duration::ZERO);
        assert_eq!(early.check, Duration::from_millis(4), "it ended while it was checked");
        assert_eq!((early.wait, early.run), (Duration::ZERO, Duration::ZERO));
        marks.checked = Some(Instant::now());
        after(8).await;
        marks.dispatched.set(Instant::now()).unwrap();
        after(16).await;
        marks.ended = Some(Instant::now());
        after(32).await;
        let Stages { open, lookup, check, wait, run, shape } =
            marks.stages(Duration::ZERO, Duration::ZERO);
        let all = [open, lookup, check, wait, run, shape].map(|stage| stage.as_millis());
        assert_eq!(all, [1, 2, 4, 8, 16, 32]);
    }
}
