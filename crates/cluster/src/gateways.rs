//! Which gateways are there: each says so all the time, and is gone when it does not.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

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
    /// What MCP servers of other gateways know ours by.
    name: OnceLock<String>,
}

/// What a gateway says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gateway {
    /// Its version.
    pub version: String,
    /// Since when it runs.
    pub started: jiff::Timestamp,
    /// What its MCP server is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Gateways {
    /// The gateways of a cluster.
    pub fn new(cluster: &Cluster) -> Self {
        let own = ulid::Ulid::generate().to_string();
        Self { mirror: Mirror::new(cluster, Bucket::Gateways), own, name: OnceLock::new() }
    }

    /// The id of this one.
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Follows who is there.
    pub fn mirror(&self) -> &Arc<Mirror> {
        &self.mirror
    }

    /// Has the others know our MCP server by this name from now on; returns our own id.
    pub fn call(&self, name: &str) -> String {
        // A gateway has one server.
        let _ = self.name.set(name.to_owned());
        self.own.clone()
    }

    /// Says that this one is there. Ends only when dropped.
    pub async fn stay(self: Arc<Self>) {
        let started = jiff::Timestamp::now();
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let (version, name) = (env!("CARGO_PKG_VERSION").to_owned(), self.name.get().cloned());
            let gateway = Gateway { version, started, name };
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

    /// Whether a gateway is there whose MCP server has this name.
    pub fn has(&self, name: &str) -> bool {
        let all = self.mirror.all::<Gateway>("");
        let mut named = all.iter().filter(|(_, gateway)| gateway.name.as_deref() == Some(name));
        named.any(|(id, _)| self.is_there(id))
    }

    /// The ids of those that are there.
    pub fn all(&self) -> Vec<String> {
        let all = self.mirror.all::<Gateway>("").into_iter().map(|(id, _)| id);
        all.filter(|id| self.is_there(id)).collect()
    }
}
