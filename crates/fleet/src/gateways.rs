//! Which gateways are there: each says so all the time, and is gone when it does not.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use switchboard_workers::{Bucket, Cluster};
use tokio::time::{MissedTickBehavior, interval};

use crate::mirror::Mirror;

/// How often a gateway says that it is there.
const BEAT: Duration = Duration::from_secs(2);
/// When it is taken for gone; the bucket forgets it then too.
const LAPSE: Duration = Duration::from_secs(10);

/// The gateways of the fleet, and which of them is this one.
pub struct Gateways {
    mirror: Arc<Mirror>,
    own: String,
}

/// What a gateway says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gateway {
    /// Its version.
    pub version: String,
    /// Since when it runs.
    pub started: jiff::Timestamp,
}

impl Gateways {
    /// The gateways of a cluster.
    pub fn new(cluster: &Cluster) -> Self {
        let own = ulid::Ulid::generate().to_string();
        Self { mirror: Mirror::new(cluster, Bucket::Gateways), own }
    }

    /// The id of this one.
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Follows who is there.
    pub fn mirror(&self) -> &Arc<Mirror> {
        &self.mirror
    }

    /// Says that this one is there. Ends only when dropped.
    pub async fn stay(self: Arc<Self>) {
        let started = jiff::Timestamp::now();
        let gateway = Gateway { version: env!("CARGO_PKG_VERSION").to_owned(), started };
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            if let Err(error) = self.mirror.put(&self.own, &gateway).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "nobody hears us");
            }
        }
    }

    /// Says that this one leaves.
    pub async fn leave(&self) {
        if let Err(error) = self.mirror.erase(&self.own).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "nobody hears us");
        }
    }

    /// Whether a gateway is there.
    pub fn is_there(&self, id: &str) -> bool {
        id == self.own || self.mirror.age(id).is_some_and(|age| age < LAPSE)
    }

    /// The ids of those that are there.
    pub fn all(&self) -> Vec<String> {
        let all = self.mirror.all::<Gateway>("").into_iter().map(|(id, _)| id);
        all.filter(|id| self.is_there(id)).collect()
    }
}
