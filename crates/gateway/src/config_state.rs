//! The config as the console shows it: its rules, and why the last change of it was rejected.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use switchboard_mcp_client::ServerConfig;
use switchboard_runtime::PolicyConfig;

/// The config that applies, as far as it is shown. Cheap to clone.
#[derive(Clone, Default)]
pub struct ConfigState(Arc<ArcSwap<ConfigSnapshot>>);

/// The config at one moment.
#[derive(Clone, Default)]
pub struct ConfigSnapshot {
    /// Its file.
    pub file: Option<PathBuf>,
    /// `[policy]`.
    pub policy: PolicyConfig,
    /// `allow_if` of `[serve]`.
    pub allow_if: Vec<String>,
    /// `deny_if` of `[serve]`.
    pub deny_if: Vec<String>,
    /// The servers that it switches off, by name.
    pub disabled: Vec<(String, ServerConfig)>,
    /// Why the current file does not apply, if it was refused.
    pub refusal: Option<ConfigRefusal>,
}

/// A change of the config that was refused.
#[derive(Clone, Debug)]
pub struct ConfigRefusal {
    /// What is wrong, for people; may have several lines.
    pub error: String,
    /// When it was found.
    pub at: SystemTime,
}

impl ConfigState {
    /// Returns the current state.
    pub fn get(&self) -> Arc<ConfigSnapshot> {
        self.0.load_full()
    }

    /// Sets the config that applies from now on.
    pub fn apply(&self, snapshot: ConfigSnapshot) {
        self.0.store(Arc::new(snapshot));
    }

    /// Stores that a changed config was refused; the one before it still applies.
    pub fn refuse(&self, error: String) {
        let refusal = Some(ConfigRefusal { error, at: SystemTime::now() });
        self.0.rcu(|now| ConfigSnapshot { refusal: refusal.clone(), ..(**now).clone() });
    }
}
