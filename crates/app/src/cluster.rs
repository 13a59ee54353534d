//! The connection to NATS, if the config names a cluster.

use anyhow::anyhow;
use switchboard_workers::{Cluster, nats::warnings};
use tokio::sync::OnceCell;

use crate::settings::Loaded;

/// The process's connection to `[cluster]`, opened when first needed.
#[derive(Default)]
pub(crate) struct ClusterConnection(OnceCell<Cluster>);

impl ClusterConnection {
    /// Connects unless that was done before; does not wait until the cluster can be reached. Returns `None` if the config
    /// names no cluster.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn get(&self, loaded: &Loaded) -> anyhow::Result<Option<Cluster>> {
        let config = &loaded.settings.cluster;
        if config.nats.is_none() {
            return Ok(None);
        }
        let wrong = |error| anyhow!("{}: {error}", loaded.place_of_section("cluster"));
        let connected = self.0.get_or_try_init(|| Cluster::connect(config));
        connected.await.map(|cluster| Some(cluster.clone())).map_err(wrong)
    }
}

/// Opens a connection of its own, as [`ClusterConnection::get`] does.
///
/// # Errors
/// A setting cannot be used.
pub(crate) async fn connect(loaded: &Loaded) -> anyhow::Result<Option<Cluster>> {
    ClusterConnection::default().get(loaded).await
}

/// Logs what is unsafe about `[cluster]`, if there is one.
///
/// # Errors
/// A setting cannot be used.
pub(crate) fn warn(loaded: &Loaded) -> anyhow::Result<()> {
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
