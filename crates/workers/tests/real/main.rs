//! With a real NATS.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

mod connecting;
mod place;
mod calls;
mod refusals;
mod losses;
mod members;
mod leaving;
mod large;
mod broker;
mod jobs;

use std::path::PathBuf;

use switchboard_testkit::Nats;
use switchboard_workers::{Cluster, Config};
use tempfile::TempDir;

/// Where `cargo xtask parts` put the parts.
fn parts() -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS");
    parts.expect("SWITCHBOARD_PARTS is set: run `cargo xtask test`").into()
}

/// A NATS of a test's own.
struct Own {
    nats: Nats,
    _folder: TempDir,
}

impl Own {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { nats: Nats::start(&parts(), folder.path()), _folder: folder }
    }

    fn config(&self) -> Config {
        Config { nats: Some(self.nats.url()), ..Config::default() }
    }

    async fn connect(&self) -> Cluster {
        Cluster::connect(&self.config()).await.unwrap()
    }
}
