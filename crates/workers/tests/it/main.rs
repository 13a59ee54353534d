//! With a cluster in memory, under a paused clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

#[path = "../shared/shared.rs"]
#[macro_use]
mod shared;
mod conformance;
mod jobs;
mod foreign_groups;
mod large_fleet;
mod presence;
mod versions;

use switchboard_workers::{Cluster, Config, memory::MemoryServers};

/// Servers in memory, for one test.
#[derive(Default)]
struct TestServers {
    servers: MemoryServers,
}

impl TestServers {
    fn start() -> Self {
        Self::default()
    }

    async fn connect(&self) -> Cluster {
        self.servers.connect(&Config::default()).unwrap()
    }
}

worker_tests!((start_paused = true));
