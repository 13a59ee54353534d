//! With a cluster in memory, under a paused clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

#[path = "../shared/shared.rs"]
#[macro_use]
mod shared;
mod conformance;
mod one_partition;
mod four_partitions;
mod foreign_groups;
mod large_fleet;
mod presence;
mod versions;

use switchboard_runtime::{DurableCalls, QueuedCall, RecordedCall};
use switchboard_toolcall::CallId;
use switchboard_workers::{Cluster, Config, jobs, memory::MemoryServers};

use shared::jobs::TestGateway;

/// Servers in memory, for one test.
struct TestServers {
    servers: MemoryServers,
    partitions: u32,
}

impl TestServers {
    fn start() -> Self {
        Self::divided(1)
    }

    /// With so many partitions of queued calls.
    fn divided(partitions: u32) -> Self {
        Self { servers: MemoryServers::default(), partitions }
    }

    fn jobs(&self) -> jobs::Config {
        jobs::Config { partitions: self.partitions, ..Default::default() }
    }

    async fn connect(&self) -> Cluster {
        self.connect_with(self.jobs()).await
    }

    async fn connect_with(&self, jobs: jobs::Config) -> Cluster {
        self.servers.connect(&Config { jobs, ..Config::default() }).unwrap()
    }
}

impl TestGateway {
    pub(crate) async fn look(&self, id: CallId) -> QueuedCall {
        self.queue.look(id).await.unwrap().expect("it was queued")
    }

    pub(crate) async fn records(&self) -> Vec<RecordedCall> {
        self.executor.history().recent(1000).await.unwrap()
    }
}

worker_tests!((start_paused = true));
