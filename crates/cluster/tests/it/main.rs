//! Two gateways in one process, with a cluster in memory between them, under a paused clock.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod credentials;
mod figures;
mod mcp_sessions;
mod slots;
mod state;
#[path = "../shared/shared.rs"]
mod shared;

use std::{sync::Arc, time::Duration};

use switchboard_access::Tokens;
use switchboard_cluster::ClusterState;
use switchboard_workers::{Cluster, ClusterSecrets, Config, memory::MemoryServers};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// How long something may take, by the paused clock.
const LONG: Duration = Duration::from_secs(120);

/// Servers in memory, and a folder for what the gateways keep.
struct TestCluster {
    servers: MemoryServers,
    key: Option<ClusterSecrets>,
    folder: TempDir,
}

/// A gateway, as far as the others know it.
struct TestNode {
    state: Arc<ClusterState>,
    tokens: Arc<Tokens>,
}

impl TestCluster {
    fn new() -> Self {
        Self { servers: MemoryServers::default(), key: None, folder: TempDir::new().unwrap() }
    }

    /// As [`new`](Self::new); all connections have the key of the cluster.
    fn signed() -> Self {
        Self { key: Some("a secret that all nodes of the cluster have".into()), ..Self::new() }
    }

    fn cluster(&self) -> Cluster {
        let config = Config { key: self.key.clone(), ..Config::default() };
        self.servers.connect(&config).unwrap()
    }

    async fn member(&self, name: &str) -> TestNode {
        let tokens = Tokens::open(self.folder.path().join(name).join("tokens.json"));
        let tokens = Arc::new(tokens.unwrap());
        let state = ClusterState::join(&self.cluster(), tokens.clone()).await;
        TestNode { state, tokens }
    }
}

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so().await {
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}
