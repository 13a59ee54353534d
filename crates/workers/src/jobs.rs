//! Durable calls: a work queue in NATS that survives callers, workers and restarts of the servers.
//!
//! A call is published to a stream and stays there until a worker of its group has stored its outcome. The state of
//! each call is in a bucket, under its id: every change is a compare-and-set, so that a call ends once, even if several
//! workers believe they own it. [`Jobs`] publishes calls, [`JobQueue`] shows their state, [`JobRunner`] runs them.

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
mod dead_letters;
mod figures;
mod changes;

use std::sync::Arc;

pub use changes::{JobChange, JobChanges};
pub use config::Config;
pub use dead_letters::DeadLetter;
pub use figures::QueueFigures;
pub use job::Job;
pub use payload::JobPayload;
pub use queue::JobQueue;
pub use runner::JobRunner;

use crate::Cluster;

/// The durable calls of a cluster. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(Arc<JobsInner>);

struct JobsInner {
    cluster: Cluster,
    config: Config,
}

impl Jobs {
    /// Creates a handle to the durable calls of this cluster.
    pub fn new(cluster: Cluster, config: Config) -> Self {
        Self(Arc::new(JobsInner { cluster, config }))
    }

    /// Returns the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }
}
