//! Two gateways in one process, with a real NATS between them.
//!
//! `cargo xtask test` installs it and says where it is. If it is not there the test fails; none is skipped.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod access;
mod approvals;
mod credentials;
mod figures;
mod node_figures;
mod rates;
mod records;
mod sign_ins;
mod mcp_sessions;
mod signing;
mod tokens;
#[path = "../shared/shared.rs"]
mod shared;

use std::{path::PathBuf, sync::Arc, time::Duration};

use switchboard_access::Tokens;
use switchboard_cluster::ClusterState;
use switchboard_testkit::nats::Nats;
use switchboard_workers::{Cluster, ClusterSecrets, Config};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// How long something may take on a machine that is busy with other tests.
const LONG: Duration = Duration::from_secs(120);

/// A NATS server, and a folder for what it and the gateways keep.
struct TestCluster {
    nats: Nats,
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
        let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
        let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
        let folder = TempDir::new().unwrap();
        Self { nats: Nats::start(&parts, &folder.path().join("nats")), key: None, folder }
    }

    /// As [`new`](Self::new); all connections have the key of the cluster.
    fn signed() -> Self {
        Self { key: Some("a secret that all nodes of the cluster have".into()), ..Self::new() }
    }

    async fn cluster(&self) -> Cluster {
        self.connect(self.key.clone()).await
    }

    /// A client of the broker without the cluster's key.
    async fn stranger(&self) -> Cluster {
        self.connect(None).await
    }

    async fn connect(&self, key: Option<ClusterSecrets>) -> Cluster {
        let config = Config { nats: Some(self.nats.url()), key, ..Config::default() };
        Cluster::connect(&config).await.unwrap()
    }

    async fn member(&self, name: &str) -> TestNode {
        let tokens = Tokens::open(self.folder.path().join(name).join("tokens.json"));
        let tokens = Arc::new(tokens.unwrap());
        let state = ClusterState::join(&self.cluster().await, tokens.clone()).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_know_who_is_there() {
    let test_cluster = TestCluster::new();
    let (one, two) = (test_cluster.member("one").await, test_cluster.member("two").await);
    let both = [one.state.gateways().own().to_owned(), two.state.gateways().own().to_owned()];
    for member in [&one, &two] {
        let sees = async || both.iter().all(|id| member.state.gateways().all().contains(id));
        until("both are there", sees).await;
    }
    two.state.leave().await;
    drop(two);
    until("one has left", async || one.state.gateways().all() == both[..1]).await;
}
