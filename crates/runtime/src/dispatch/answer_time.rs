//! The time in which somebody is asked a question of a tool's: it is not the tool's own (EX-7).

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long questions of one call were unanswered. Those that are asked at the same time count once.
#[derive(Debug, Default)]
pub(crate) struct AnswerTime(Mutex<Clock>);

#[derive(Debug, Default)]
struct Clock {
    /// How many questions are unanswered.
    open: usize,
    /// Since when some are.
    since: Option<Instant>,
    /// How long some were, before that.
    past: Duration,
}

impl AnswerTime {
    /// Notes that a question is asked.
    pub(super) fn begin(&self) {
        let mut clock = self.lock();
        clock.open += 1;
        clock.since.get_or_insert_with(Instant::now);
    }

    /// Notes that a question was answered, or that nobody waits for the answer any more.
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

    fn lock(&self) -> MutexGuard<'_, Clock> {
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
