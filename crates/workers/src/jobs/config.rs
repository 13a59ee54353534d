//! The settings of `[cluster.jobs]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_toolcall::HumanDuration;

/// How often a queued call is tried, and when its worker counts as lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How often a call is begun at most, before it goes to the dead letters.
    pub attempts: u32,
    /// How long is waited after the first attempt that failed; each further one doubles it, up to five minutes.
    pub retry_delay: HumanDuration,
    /// How long a worker may say nothing of a call that it runs, until another one gets it.
    pub lost_after: HumanDuration,
}

/// The longest pause between two attempts.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

impl Config {
    /// How long is waited after so many attempts.
    pub(crate) fn delay(&self, attempts: u32) -> Duration {
        let doubled = 1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.retry_delay.0.saturating_mul(doubled).min(LONGEST_DELAY)
    }

    /// How often a worker says that it is still at a call.
    pub(crate) fn beat(&self) -> Duration {
        self.lost_after.0 / 3
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            attempts: 5,
            retry_delay: HumanDuration(Duration::from_secs(1)),
            lost_after: HumanDuration(Duration::from_secs(30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_at_five_minutes() {
        let config = Config::default();
        let delays = [1, 2, 3, 9, 40, u32::MAX].map(|attempts| config.delay(attempts).as_secs());
        assert_eq!(delays, [1, 2, 4, 256, 300, 300]);
    }
}
