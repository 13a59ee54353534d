//! Ships this process's records to the cluster.

use std::time::Duration;

use switchboard_cluster::records::{ShippingProgress, ShippingTask};
use switchboard_workers::Cluster;

use crate::{cluster::ClusterConnection, records, settings::LoadedConfig};

/// How long a process waits at its end until its last records are shipped; the next process ships the rest.
const AT_THE_END: Duration = Duration::from_secs(2);

/// Ships the records of this process to the cluster.
pub(crate) struct RecordShipper {
    cluster: Cluster,
    shipping: Option<ShippingTask>,
}

impl RecordShipper {
    /// Connects to what `[cluster]` names and starts to ship records there, in the background.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn start(
        loaded: &LoadedConfig,
        connection: &ClusterConnection,
    ) -> anyhow::Result<Option<Self>> {
        let Some(cluster) = connection.get(loaded).await? else { return Ok(None) };
        let audit = &loaded.settings.audit;
        // Replayed calls did not really happen, and without a store on disk there is nothing to ship.
        let has_any = audit.enabled && loaded.replay.is_none();
        let folder = records::store_folder(loaded)
            .filter(|_| has_any && loaded.settings.cluster.ship_records);
        let shipping =
            folder.map(|folder| ShippingTask::start(cluster.clone(), folder, audit.max_age.0));
        Ok(Some(Self { cluster, shipping }))
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns how far shipping is; `None` if this process does not ship.
    pub(crate) fn progress(&self) -> Option<&ShippingProgress> {
        self.shipping.as_ref().map(ShippingTask::progress)
    }

    /// Ships the remaining records, within a time limit.
    pub(crate) async fn finish(self) {
        if let Some(shipping) = self.shipping {
            shipping.finish(AT_THE_END).await;
        }
    }
}
