//! The settings of `[cluster.jobs]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use switchboard_toolcall::{HumanDuration, ToolPatterns};

/// How often a queued call is tried, and when its worker counts as lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many attempts are made before a call goes to the dead letter queue.
    pub attempts: u32,
    /// The delay after the first failed attempt; doubled for each further one, up to five minutes.
    pub retry_delay: HumanDuration,
    /// How long a worker may be silent about a running call before another one gets it.
    pub lost_after: HumanDuration,
    /// How many calls of one tool may be in the queue; further ones fail as `overloaded`.
    #[schemars(range(min = 1))]
    pub max_queued: u32,
    /// Into how many streams and buckets queued calls are divided, so that several servers lead their writes: 1 to 64, the same on
    /// all nodes.
    #[schemars(range(min = 1, max = 64))]
    pub partitions: u32,
    /// Patterns of the tools whose calls this gateway queues if they come with a key, as those of runs do: they outlive the gateway.
    #[serde(deserialize_with = "patterns")]
    pub keyed: Vec<String>,
}

/// Reads patterns of tools.
fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::deserialize(deserializer)?;
    ToolPatterns::new(&patterns).map_err(D::Error::custom)?;
    Ok(patterns)
}

/// The longest pause between two attempts.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

impl Config {
    /// Returns the delay after so many attempts.
    pub(crate) fn delay(&self, attempts: u32) -> Duration {
        let doubled = 1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.retry_delay.0.saturating_mul(doubled).min(LONGEST_DELAY)
    }

    /// Returns the interval of heartbeats.
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
            max_queued: 100_000,
            partitions: 1,
            keyed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_tools_are_checked() {
        let config: Config = serde_json::from_str(r#"{"keyed": ["gpu__*"]}"#).unwrap();
        assert_eq!(config.keyed, ["gpu__*"]);
        assert!(serde_json::from_str::<Config>(r#"{"keyed": ["a{"]}"#).is_err());
    }

    #[test]
    fn pauses_grow_and_end_at_five_minutes() {
        let config = Config::default();
        let delays = [1, 2, 3, 9, 40, u32::MAX].map(|attempts| config.delay(attempts).as_secs());
        assert_eq!(delays, [1, 2, 4, 256, 300, 300]);
    }
}
