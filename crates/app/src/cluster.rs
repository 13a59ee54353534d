//! The cluster that this process is part of, where the config names one.

use std::fmt;

use anyhow::anyhow;
use switchboard_workers::{Cluster, cluster::warnings};
use tokio::sync::OnceCell;

use crate::settings::Loaded;

/// The one connection of this process, made when somebody needs it.
#[derive(Default)]
pub(crate) struct Connected(OnceCell<Cluster>);

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connected").field(&self.0.get().map(Cluster::address)).finish()
    }
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

/// Connects to what `[cluster]` names, once for all who ask. Does not wait until it can be reached.
///
/// # Errors
/// A setting cannot be used.
pub(crate) async fn connect(loaded: &Loaded) -> anyhow::Result<Option<Cluster>> {
    let config = &loaded.settings.cluster;
    if config.nats.is_none() {
        return Ok(None);
    }
    let wrong = |error| anyhow!("{}: {error}", loaded.place_of_section("cluster"));
    let connected = loaded.cluster.0.get_or_try_init(|| Cluster::connect(config));
    connected.await.map(|cluster| Some(cluster.clone())).map_err(wrong)
}
