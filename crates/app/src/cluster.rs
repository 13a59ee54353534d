//! The connection to NATS, if the config names a cluster.

use std::sync::Arc;

use anyhow::anyhow;
use switchboard_cluster::ClusterCredentials;
use switchboard_workers::{Cluster, nats::warnings};
use tokio::sync::OnceCell;

use crate::settings::LoadedConfig;

/// The process's connection to `[cluster]`, opened when first needed.
#[derive(Default)]
pub(crate) struct ClusterConnection {
    cluster: OnceCell<Cluster>,
    credentials: OnceCell<Option<Arc<ClusterCredentials>>>,
}

impl ClusterConnection {
    /// Connects unless that was done before; does not wait until the cluster can be reached. Returns `None` if the config
    /// names no cluster.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn get(&self, loaded: &LoadedConfig) -> anyhow::Result<Option<Cluster>> {
        let config = &loaded.settings.cluster;
        if config.nats.is_none() {
            return Ok(None);
        }
        let wrong = |error| anyhow!("{}: {error}", loaded.place_of_section("cluster"));
        let connected = self.cluster.get_or_try_init(|| Cluster::connect(config));
        connected.await.map(|cluster| Some(cluster.clone())).map_err(wrong)
    }

    /// Returns the sign-ins that the gateways of the cluster share; `None` if the config names no cluster, or it has no key.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn credentials(
        &self,
        loaded: &LoadedConfig,
    ) -> anyhow::Result<Option<Arc<ClusterCredentials>>> {
        let Some(cluster) = self.get(loaded).await? else { return Ok(None) };
        let started =
            self.credentials.get_or_init(async || ClusterCredentials::start(&cluster)).await;
        Ok(started.clone())
    }
}

/// Opens a connection of its own, as [`ClusterConnection::get`] does.
///
/// # Errors
/// A setting cannot be used.
pub(crate) async fn connect(loaded: &LoadedConfig) -> anyhow::Result<Option<Cluster>> {
    ClusterConnection::default().get(loaded).await
}

/// Logs what is unsafe about `[cluster]`, if there is one.
///
/// # Errors
/// A setting cannot be used.
pub(crate) fn warn(loaded: &LoadedConfig) -> anyhow::Result<()> {
    let config = &loaded.settings.cluster;
    if config.nats.is_none() {
        return Ok(());
    }
    let wrong = |error| anyhow!("{}: {error}", loaded.place_of_section("cluster"));
    for warning in warnings(config).map_err(wrong)? {
        tracing::warn!("{warning}");
    }
    Ok(())
}
