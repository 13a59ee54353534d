//! Ships this process's records: to the cluster, and to a log store.

use std::time::Duration;

use anyhow::anyhow;
use futures_util::future::join_all;
use switchboard_audit::{ShippingProgress, ShippingTask};
use switchboard_cluster::records::RecordStream;
use switchboard_workers::Cluster;

use crate::{cluster::ClusterConnection, records, settings::LoadedConfig, telemetry::record_log};

/// How long a process waits at its end until its last records are shipped; the next process ships the rest.
const AT_THE_END: Duration = Duration::from_secs(2);

/// Ships the records of this process.
#[derive(Default)]
pub(crate) struct RecordShipper {
    cluster: Option<Cluster>,
    to_cluster: Option<ShippingTask>,
    to_log: Option<ShippingTask>,
}

impl RecordShipper {
    /// Starts to ship records to what `[cluster]` and `[telemetry]` name, in the background.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn start(
        loaded: &LoadedConfig,
        connection: &ClusterConnection,
    ) -> anyhow::Result<Self> {
        let (cluster, audit) = (connection.get(loaded).await?, &loaded.settings.audit);
        // Replayed calls did not really happen, and without a store on disk there is nothing to ship.
        let has_any = audit.enabled && loaded.replay.is_none();
        let Some(folder) = records::store_folder(loaded).filter(|_| has_any) else {
            return Ok(Self { cluster, ..Self::default() });
        };
        let wrong =
            |error| anyhow!("{}: [telemetry]: {error}", loaded.place_of_section("telemetry"));
        let log = record_log(&loaded.settings.telemetry).map_err(wrong)?;
        let to_log = log.map(|log| ShippingTask::start(log, folder.clone()));
        let receiver = cluster.clone().filter(|_| loaded.settings.cluster.ship_records);
        let to_cluster = receiver.map(|cluster| {
            let stream = RecordStream::new(cluster, folder.clone(), audit.max_age.0);
            ShippingTask::start(stream, folder)
        });
        Ok(Self { cluster, to_cluster, to_log })
    }

    /// Returns the cluster, if the config names one.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// Returns how far shipping to the cluster is; `None` if this process does not ship there.
    pub(crate) fn cluster_progress(&self) -> Option<&ShippingProgress> {
        self.to_cluster.as_ref().map(ShippingTask::progress)
    }

    /// Ships the remaining records, within a time limit.
    pub(crate) async fn finish(self) {
        let tasks = [self.to_cluster, self.to_log].into_iter().flatten();
        join_all(tasks.map(|task| task.finish(AT_THE_END))).await;
    }
}
