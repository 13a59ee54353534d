//! The gateway's description of itself, so that other programs of its user can tell whether it is theirs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;
use utoipa::ToSchema;

/// A gateway's description; changes with its config. Cheap to clone.
#[derive(Clone, Default)]
pub struct About(Arc<ArcSwap<AboutGateway>>);

impl About {
    /// Says this from now on.
    pub fn set(&self, about: AboutGateway) {
        self.0.store(Arc::new(about));
    }

    /// Returns the current description.
    pub fn get(&self) -> Arc<AboutGateway> {
        self.0.load_full()
    }
}

/// A gateway's description.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AboutGateway {
    /// The version of Switchboard.
    pub version: &'static str,
    /// The version with the commit that it was built from, if the build knew it; unset for callers who may not administer it.
    pub build: Option<String>,
    /// Whether it is one of a cluster, so that the calls of all nodes can be shown.
    pub cluster: bool,
    /// Where it listens; unset, like what follows, for callers who may not administer it.
    pub address: Option<String>,
    /// The config file.
    pub config: Option<String>,
    /// SHA-256 of the config that applies now.
    pub config_digest: Option<String>,
}

impl Default for AboutGateway {
    fn default() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            version,
            build: None,
            cluster: false,
            address: None,
            config: None,
            config_digest: None,
        }
    }
}
