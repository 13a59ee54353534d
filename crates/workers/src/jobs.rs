//! Durable calls: a work queue at the servers that outlives who asks, who runs and the servers' own restarts.
//!
//! A call is laid into a stream and stays there until a worker of its group has written down what came of it. How each
//! call is stands in a bucket, under its id: every change there is a compare-and-set, so that a call ends once, whoever
//! else still thinks that it has it. [`Jobs`] lays calls in, [`Queue`] is what entrances ask, [`Runner`] runs them.

mod config;
mod job;
mod keys;
mod payload;
mod state;
mod enqueue;
mod queue;
mod runner;
mod attempt;
mod heartbeat;
mod verdict;
mod dead;
mod figures;
mod changes;

use std::sync::Arc;

pub use changes::{Change, Changes};
pub use config::Config;
pub use dead::DeadLetter;
pub use figures::Figures;
pub use job::Job;
pub use payload::Payload;
pub use queue::Queue;
pub use runner::Runner;

use crate::Cluster;

/// The durable calls of a cluster. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    cluster: Cluster,
    config: Config,
}

impl Jobs {
    /// The durable calls of this cluster.
    pub fn new(cluster: Cluster, config: Config) -> Self {
        Self(Arc::new(Inner { cluster, config }))
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }
}
