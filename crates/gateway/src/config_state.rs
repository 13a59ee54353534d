//! What the console shows of the config: its rules, and why the last change of it was refused.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use switchboard_runtime::PolicyConfig;

/// The config that applies, as far as it is shown. Cheap to clone.
#[derive(Clone, Default)]
pub struct ConfigState(Arc<ArcSwap<ConfigSnapshot>>);

/// What is known of the config at one moment.
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
    /// Why the file as it is now does not apply.
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
    /// What is known now.
    pub fn get(&self) -> Arc<ConfigSnapshot> {
        self.0.load_full()
    }

    /// This config applies from now on.
    pub fn apply(&self, snapshot: ConfigSnapshot) {
        self.0.store(Arc::new(snapshot));
    }

    /// A changed config was refused; what applied still does.
    pub fn refuse(&self, error: String) {
        let refusal = Some(ConfigRefusal { error, at: SystemTime::now() });
        self.0.rcu(|now| ConfigSnapshot { refusal: refusal.clone(), ..(**now).clone() });
    }
}
