//! This process's records on their way to the fleet, where it is part of one.

use std::time::Duration;

use switchboard_cluster::records::{Progress, Shipping};
use switchboard_workers::Cluster;

use crate::{cluster, records, settings::Loaded};

/// How long a process that ends waits until its last records are shipped; the next one ships what is left.
const AT_THE_END: Duration = Duration::from_secs(2);

/// The fleet as this process sees it.
pub(crate) struct Shipped {
    cluster: Cluster,
    shipping: Option<Shipping>,
}

impl Shipped {
    /// Connects to what `[cluster]` names and begins to ship records there. Waits for nothing.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub(crate) async fn start(loaded: &Loaded) -> anyhow::Result<Option<Self>> {
        let Some(cluster) = cluster::connect(loaded).await? else { return Ok(None) };
        let audit = &loaded.settings.audit;
        // What is played again did not happen, and what is not written down cannot be shipped.
        let has_any = audit.enabled && loaded.replay.is_none();
        let folder = records::store_folder(loaded)
            .filter(|_| has_any && loaded.settings.cluster.ship_records);
        let shipping =
            folder.map(|folder| Shipping::start(cluster.clone(), folder, audit.max_age.0));
        Ok(Some(Self { cluster, shipping }))
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// How far shipping is, where this process ships.
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.shipping.as_ref().map(Shipping::progress)
    }

    /// Ships what is left, within bounds.
    pub(crate) async fn finish(self) {
        if let Some(shipping) = self.shipping {
            shipping.finish(AT_THE_END).await;
        }
    }
}
