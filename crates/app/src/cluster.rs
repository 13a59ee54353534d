//! The cluster that this process is part of, where the config names one.

use anyhow::anyhow;
use switchboard_workers::Cluster;

use crate::settings::Loaded;

/// Connects to what `[cluster]` names. Does not wait until it can be reached.
///
/// # Errors
/// A setting cannot be used.
pub(crate) async fn connect(loaded: &Loaded) -> anyhow::Result<Option<Cluster>> {
    let config = &loaded.settings.cluster;
    if config.nats.is_none() {
        return Ok(None);
    }
    let wrong = |error| anyhow!("{}: {error}", loaded.place_of_section("cluster"));
    Cluster::connect(config).await.map(Some).map_err(wrong)
}
