//! The store's settings.

mod tool_ages;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer, de};
use switchboard_toolcall::{HumanDuration, HumanSize};

use crate::key::SigningKey;

pub use tool_ages::ToolAges;

/// The settings of `[audit]`.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct Config {
    /// The folder of the store; the app's default if unset.
    pub path: Option<PathBuf>,
    /// Whether calls are recorded at all.
    pub enabled: bool,
    /// What a record must have reached before its call is dispatched.
    pub durability: Durability,
    /// Older records are deleted.
    pub max_age: HumanDuration,
    /// After how long calls of some tools lose their content, by globs of names; the shortest that matches. Not longer than `max_age`.
    pub tool_max_age: ToolAges,
    /// Whether segments of the journal are compressed once they are sealed.
    pub compress: bool,
    /// How many bytes records and artifacts may take; the oldest are deleted.
    pub max_size: HumanSize,
    /// What happens to calls that cannot be recorded.
    pub on_failure: OnFailure,
    /// Whether records include results.
    pub results: Results,
    /// The key that lines are signed with, so that nobody without it can forge them; unsigned if unset.
    #[schemars(with = "Option<String>")]
    pub key: Option<SigningKey>,
}

/// What a record must have reached before its call is dispatched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The operating system: survives the end of our process, however it ends.
    #[default]
    Os,
    /// The disk: survives a power loss too, but every call waits for the disk.
    Disk,
}

/// What happens to calls that cannot be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Calls of tools that are not read-only fail.
    #[default]
    Refuse,
    /// They run, with a warning in the log.
    Warn,
}

/// Whether records include results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
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
            tool_max_age: ToolAges::default(),
            compress: true,
            max_size: HumanSize(1_000_000_000),
            on_failure: OnFailure::default(),
            results: Results::default(),
            key: None,
        }
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The derived function, which is not of the trait.
        let config = Self::deserialize(deserializer)?;
        config.tool_max_age.check(config.max_age).map_err(de::Error::custom)?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_and_others_are_refused() {
        let config: Config = toml::from_str(
            r#"
            path = "/var/lib/switchboard"
            enabled = false
            durability = "disk"
            max_age = "7d"
            tool_max_age = { "sensors__*" = "1d", "sensors__d*" = "2h", "bank__*" = "7d" }
            compress = false
            max_size = "200MB"
            on_failure = "warn"
            results = "none"
            key = "a key of the records"
            "#,
        )
        .unwrap();
        assert_eq!(config.path.as_deref(), Some("/var/lib/switchboard".as_ref()));
        assert_eq!((config.enabled, config.durability), (false, Durability::Disk));
        assert_eq!(config.max_age.0, Duration::from_secs(7 * 86400));
        assert_eq!(config.max_size, HumanSize(200_000_000));
        assert_eq!((config.on_failure, config.results), (OnFailure::Warn, Results::None));
        assert_eq!(config.key, SigningKey::new("a key of the records").ok());
        let age = |tool| config.tool_max_age.of(tool).map(|age| age.as_secs() / 3600);
        assert_eq!(["sensors__lux", "sensors__door", "wait"].map(age), [Some(24), Some(2), None]);
        assert!(!config.compress);
        for wrong in [
            "key = \"short\"",
            "size = 1",
            "durability = \"paper\"",
            "max_age = 30",
            "tool_max_age = {'[' = '1d'}",
        ] {
            assert!(toml::from_str::<Config>(wrong).is_err(), "{wrong}");
        }
        let longer = toml::from_str::<Config>("tool_max_age = {'bank__*' = '31d'}").unwrap_err();
        assert!(
            longer.message().starts_with("`tool_max_age` of `bank__*` is longer than `max_age`")
        );
    }
}
