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
pub(crate) use state::{JobEntry, JobOutcome, JobState};

use switchboard_toolcall::{CallId, ToolPatterns};

use crate::{Cluster, Error};

/// Returns the state of a call, `None` if there is no such call.
///
/// # Errors
/// The servers cannot be reached.
pub(crate) async fn state_of(jobs: &Jobs, id: CallId) -> Result<Option<JobEntry>, Error> {
    enqueue::within(state::get(jobs.cluster(), id)).await
}

/// The durable calls of a cluster. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(Arc<JobsInner>);

struct JobsInner {
    cluster: Cluster,
    config: Config,
    /// The tools whose calls are queued if they have a key.
    keyed: ToolPatterns,
}

impl Jobs {
    /// Creates a handle to the durable calls of this cluster.
    pub fn new(cluster: Cluster, config: Config) -> Self {
        // Checked when the settings were read.
        let keyed = ToolPatterns::new(&config.keyed).unwrap_or_default();
        Self(Arc::new(JobsInner { cluster, config, keyed }))
    }

    /// Whether calls of this tool are queued if they have a key.
    pub(crate) fn queues(&self, tool: &str) -> bool {
        self.0.keyed.matches(tool)
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
