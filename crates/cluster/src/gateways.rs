//! The live gateways: each refreshes its entry regularly, and counts as gone if it does not.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use switchboard_workers::{Bucket, Cluster};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::mirror::Mirror;

/// How often a gateway refreshes its entry.
const BEAT: Duration = Duration::from_secs(2);
/// When a gateway without a refresh counts as gone; the bucket drops its entry then too.
const LAPSE: Duration = Duration::from_secs(10);

/// How long ago the last refresh of this gateway may be so that others certainly count it as live.
const CERTAIN: Duration = Duration::from_secs(6);

/// The gateways of the cluster, and the id of this one.
pub struct Gateways {
    mirror: Arc<Mirror>,
    own: String,
    /// The name by which the MCP servers of other gateways know ours.
    name: OnceLock<String>,
    /// How often others may have counted this gateway as gone.
    gaps: AtomicU64,
}

/// A gateway's entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GatewayEntry {
    /// Its version.
    pub version: String,
    /// When it was started.
    pub started: jiff::Timestamp,
    /// The name of its MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Gateways {
    /// Creates the view of a cluster's gateways.
    pub fn new(cluster: &Cluster) -> Self {
        let own = ulid::Ulid::generate().to_string();
        let mirror = Mirror::new(cluster, Bucket::Gateways);
        Self { mirror, own, name: OnceLock::new(), gaps: AtomicU64::new(0) }
    }

    /// Returns the id of this gateway.
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Follows the live gateways.
    pub fn mirror(&self) -> &Arc<Mirror> {
        &self.mirror
    }

    /// Sets the name by which other gateways know our MCP server; returns our own id.
    pub fn call(&self, name: &str) -> String {
        // Setting it twice has no effect: a gateway has one MCP server.
        let _ = self.name.set(name.to_owned());
        self.own.clone()
    }

    /// Refreshes the entry of this gateway. Ends only when dropped.
    pub async fn stay(self: Arc<Self>) {
        let started = jiff::Timestamp::now();
        let mut refreshed = None::<Instant>;
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let (version, name) = (env!("CARGO_PKG_VERSION").to_owned(), self.name.get().cloned());
            let gateway = GatewayEntry { version, started, name };
            // Before the entry is there again: what this gateway held is no longer certain.
            if refreshed.is_none_or(|refreshed| refreshed.elapsed() > CERTAIN) {
                self.gaps.fetch_add(1, Ordering::AcqRel);
            }
            match self.mirror.put(&self.own, &gateway).await {
                Ok(()) => refreshed = Some(Instant::now()),
                Err(error) => {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "failed to write this gateway's entry"
                    );
                }
            }
        }
    }

    /// Removes the entry of this gateway.
    pub async fn leave(&self) {
        if let Err(error) = self.mirror.erase(&self.own).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "failed to remove this gateway's entry"
            );
        }
    }

    /// Returns how often others may have counted this gateway as gone; `None` if they may do so now.
    pub(crate) fn gaps(&self) -> Option<u64> {
        let gaps = self.gaps.load(Ordering::Acquire);
        self.mirror.age(&self.own).is_some_and(|age| age < CERTAIN).then_some(gaps)
    }

    /// Whether a gateway is live.
    pub fn is_there(&self, id: &str) -> bool {
        id == self.own || self.mirror.age(id).is_some_and(|age| age < LAPSE)
    }

    /// Whether there is a live gateway whose MCP server has this name.
    pub fn has(&self, name: &str) -> bool {
        let all = self.mirror.all::<GatewayEntry>("");
        let mut named = all.iter().filter(|(_, gateway)| gateway.name.as_deref() == Some(name));
        named.any(|(id, _)| self.is_there(id))
    }

    /// Returns the ids of the live gateways.
    pub fn all(&self) -> Vec<String> {
        let all = self.mirror.all::<GatewayEntry>("").into_iter().map(|(id, _)| id);
        all.filter(|id| self.is_there(id)).collect()
    }
}
