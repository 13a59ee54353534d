//! Measures how long a tool's questions are unanswered, which does not count as the tool's time (EX-7).

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long questions of one call were unanswered. Overlapping questions count once.
#[derive(Debug, Default)]
pub(crate) struct AnswerTime(Mutex<AnswerClock>);

#[derive(Debug, Default)]
struct AnswerClock {
    /// How many questions are unanswered now.
    open: usize,
    /// Since when at least one is.
    since: Option<Instant>,
    /// The total before that.
    past: Duration,
}

impl AnswerTime {
    /// Counts a question that is asked.
    pub(super) fn begin(&self) {
        let mut clock = self.lock();
        clock.open += 1;
        clock.since.get_or_insert_with(Instant::now);
    }

    /// Counts a question that was answered or withdrawn by its asker.
    pub(super) fn end(&self) {
        let mut clock = self.lock();
        clock.open = clock.open.saturating_sub(1);
        if clock.open == 0 {
            let lasted = clock.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            clock.past += lasted;
        }
    }

    /// Returns whether a question is unanswered.
    pub(super) fn runs(&self) -> bool {
        self.lock().open > 0
    }

    /// Returns how long questions were unanswered so far.
    pub(crate) fn total(&self) -> Duration {
        let clock = self.lock();
        clock.past + clock.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, AnswerClock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // EX-7
    #[tokio::test(start_paused = true)]
    async fn questions_at_the_same_time_count_once() {
        let time = AnswerTime::default();
        let after = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        after(1).await;
        time.begin();
        after(2).await;
        time.begin();
        after(4).await;
        time.end();
        assert!(time.runs());
        assert_eq!(time.total(), Duration::from_secs(6), "one is still unanswered");
        time.end();
        after(8).await;
        assert!(!time.runs());
        assert_eq!(time.total(), Duration::from_secs(6));
    }
}
