//! The executor's settings.

use std::time::Duration;

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, HumanSize};

/// The settings of `[executor]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long a call may take, including waiting for a slot and connecting.
    pub timeout: HumanDuration,
    /// Calls that take longer are logged as a warning.
    pub slow_call: HumanDuration,
    /// How many characters of a result are shown before it is truncated.
    pub max_output: HumanSize,
    /// How many calls may run at once.
    pub max_concurrent: usize,
    /// How many calls may wait for a slot; one more fails as `overloaded`.
    pub max_queue: usize,
    /// Whether extra parameters fail if the schema forbids them.
    pub strict: bool,
    /// Whether identical calls of read-only tools in flight share one run.
    pub share_reads: bool,
    /// How long an idempotency key is remembered.
    pub idempotency: HumanDuration,
    /// What separates a server's name from its tool's.
    pub separator: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            timeout: HumanDuration(Duration::from_secs(30)),
            slow_call: HumanDuration(Duration::from_secs(1)),
            max_output: HumanSize(50_000),
            max_concurrent: 256,
            max_queue: 1024,
            strict: false,
            share_reads: false,
            idempotency: HumanDuration(Duration::from_secs(24 * 60 * 60)),
            separator: "__".to_owned(),
        }
    }
}
