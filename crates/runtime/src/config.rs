//! The executor's settings.

use std::time::Duration;

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, Size};

/// The settings of `[executor]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long a call may take, waiting and connecting included.
    pub timeout: HumanDuration,
    /// A call that takes longer is warned about.
    pub slow_call: HumanDuration,
    /// How many characters of a result are shown.
    pub max_output: Size,
    /// How many calls may run at once.
    pub max_concurrent: usize,
    /// How many calls may wait for a slot; one more fails as `overloaded`.
    pub max_queue: usize,
    /// Whether extra parameters fail where the schema forbids them.
    pub strict: bool,
    /// Whether identical calls of read-only tools that are under way share one run.
    pub share_reads: bool,
    /// How long an idempotency key stands for its call.
    pub idempotency: HumanDuration,
    /// What stands between a server's name and its tool's.
    pub separator: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            timeout: HumanDuration(Duration::from_secs(30)),
            slow_call: HumanDuration(Duration::from_secs(1)),
            max_output: Size(50_000),
            max_concurrent: 256,
            max_queue: 1024,
            strict: false,
            share_reads: false,
            idempotency: HumanDuration(Duration::from_secs(24 * 60 * 60)),
            separator: "__".to_owned(),
        }
    }
}
