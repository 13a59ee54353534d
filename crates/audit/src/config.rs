//! The store's settings.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, Size};

/// The settings of `[audit]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The folder of the store; where it is left out, the app says where.
    pub path: Option<PathBuf>,
    /// Whether calls are written down at all.
    pub enabled: bool,
    /// What a record must have reached before its call is dispatched.
    pub durability: Durability,
    /// Records that are older give way.
    pub max_age: HumanDuration,
    /// How many bytes records and artifacts may take; the oldest give way.
    pub max_size: Size,
    /// What happens to calls that cannot be written down.
    pub on_failure: OnFailure,
    /// Whether results are kept in the records.
    pub results: Results,
}

/// What a record must have reached before its call is dispatched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The operating system: survives the end of our process, however it ends.
    #[default]
    Os,
    /// The disk: survives a loss of power too, and costs a wait for the disk.
    Disk,
}

/// What happens to calls that cannot be written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Those of tools that are not read-only are refused.
    #[default]
    Refuse,
    /// They run, and the log warns.
    Warn,
}

/// Whether results are kept in the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// As the caller saw them, secrets redacted.
    #[default]
    Full,
    /// Only the outcome and the size.
    None,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: None,
            enabled: true,
            durability: Durability::default(),
            max_age: HumanDuration(Duration::from_secs(30 * 86400)),
            max_size: Size(1_000_000_000),
            on_failure: OnFailure::default(),
            results: Results::default(),
        }
    }
}
