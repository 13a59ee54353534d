//! Slows down the reading of a server that sends many messages other than responses.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How many messages and lines other than responses are read in each period. Further ones stay in the pipe, which blocks
/// the server: a flood must not take the time of the threads that serve others.
const MOST: u32 = 2_000;
const PERIOD: Duration = Duration::from_millis(100);

/// Counts messages other than responses.
pub(super) struct MessageRateLimit {
    count: u32,
    period: Instant,
}

impl MessageRateLimit {
    pub(super) fn new() -> Self {
        Self { count: 0, period: Instant::now() }
    }

    /// Counts one message or line that is not a response.
    pub(super) fn count(&mut self) {
        self.count += 1;
    }

    /// Waits for the end of the period if the limit was reached in it.
    pub(super) async fn wait(&mut self) {
        if self.count >= MOST {
            sleep_until(self.period + PERIOD).await;
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how long it takes to read `lines` lines, one every `pause` microseconds.
    async fn reading(lines: u32, pause: u64) -> Duration {
        let (began, mut rate_limit) = (Instant::now(), MessageRateLimit::new());
        for _ in 0..lines {
            tokio::time::advance(Duration::from_micros(pause)).await;
            rate_limit.count();
            rate_limit.wait().await;
        }
        began.elapsed()
    }

    // MC-5
    #[tokio::test(start_paused = true)]
    async fn a_flood_waits_and_nothing_else_does() {
        assert_eq!(reading(1_999, 0).await, Duration::ZERO);
        let flood = reading(20_000, 0).await;
        assert!(
            (PERIOD * 10..PERIOD * 10 + Duration::from_millis(20)).contains(&flood),
            "{flood:?}"
        );
        assert_eq!(reading(20_000, 50).await, Duration::from_secs(1));
    }
}
