//! The settings of `[lock]`.

use serde::{Deserialize, Serialize};

/// The settings of `[lock]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LockConfig {
    /// What happens to definitions that are not in `switchboard.lock`, or differ from it; `enforce` where the file exists, else
    /// `off`.
    pub mode: Option<LockMode>,
}

/// What happens to definitions that are not in the lock, or differ from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    /// Nothing: the lock is not read.
    Off,
    /// They are used, and told in the log.
    Warn,
    /// They are skipped until somebody trusts them.
    Enforce,
}

impl LockMode {
    /// Its name in the config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}
