//! With a real NATS.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

#[path = "../shared/shared.rs"]
#[macro_use]
mod shared;
mod connecting;
mod vanished_gateway;
mod large;
mod broker;
mod one_partition;
mod four_partitions;
mod divided;
mod regions;
mod signing;
mod conformance;

use std::path::PathBuf;

use switchboard_testkit::Nats;
use switchboard_workers::{Cluster, ClusterSecrets, Config, jobs};
use tempfile::TempDir;

/// Where `cargo xtask parts` put the parts.
fn parts() -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS");
    parts.expect("SWITCHBOARD_PARTS is set: run `cargo xtask test`").into()
}

/// A NATS server for one test.
struct TestServers {
    nats: Nats,
    key: Option<ClusterSecrets>,
    partitions: u32,
    _folder: TempDir,
}

/// What nodes of a cluster sign with.
const KEY: &str = "a secret that all nodes of the cluster have";

impl TestServers {
    fn start() -> Self {
        Self::divided(1)
    }

    /// With so many partitions of queued calls.
    fn divided(partitions: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nats = Nats::start(&parts(), folder.path());
        Self { nats, key: None, partitions, _folder: folder }
    }

    /// As [`start`](Self::start); whoever connects has the key of the cluster.
    fn signed() -> Self {
        Self { key: Some(KEY.into()), ..Self::start() }
    }

    fn config(&self) -> Config {
        let (nats, key) = (Some(self.nats.url()), self.key.clone());
        Config { nats, key, jobs: self.jobs(), ..Config::default() }
    }

    fn jobs(&self) -> jobs::Config {
        jobs::Config { partitions: self.partitions, ..Default::default() }
    }

    async fn connect(&self) -> Cluster {
        Cluster::connect(&self.config()).await.unwrap()
    }

    async fn connect_with(&self, jobs: jobs::Config) -> Cluster {
        Cluster::connect(&Config { jobs, ..self.config() }).await.unwrap()
    }

    /// Whoever gets in at the broker and has no key.
    async fn stranger(&self) -> Cluster {
        let config = Config { key: None, ..self.config() };
        Cluster::connect(&config).await.unwrap()
    }
}

worker_tests!((flavor = "multi_thread", worker_threads = 2));
