//! Servers over HTTP and stdio, and as the executor's callers see them: connected, lost, back again, and never in the way.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod calls;
mod pages;
mod connecting;
mod remembering;
mod lists;
mod life;
mod http;
mod stdio;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use indexmap::IndexMap;
use switchboard_mcp_client::{ServerConfig, ServerDeps, ServerFailure, Servers};
use switchboard_runtime::{ToolExecutor, toolcall::HumanDuration};
use switchboard_testkit::parts::example;

/// An executor with servers, and what was said of those that failed.
struct TestServers {
    executor: ToolExecutor,
    servers: Servers,
    failures: Arc<Mutex<Vec<ServerFailure>>>,
}

impl TestServers {
    /// Starts servers that are tried again after `base_delay`.
    fn with(
        base_delay: Duration,
        configs: impl IntoIterator<Item = (&'static str, ServerConfig)>,
    ) -> Self {
        Self::with_deps(configs, |deps| {
            deps.mcp.retry_base_delay = HumanDuration(base_delay);
        })
    }

    /// Starts servers with dependencies that `change` makes different from the defaults.
    fn with_deps(
        configs: impl IntoIterator<Item = (&'static str, ServerConfig)>,
        change: impl FnOnce(&mut ServerDeps),
    ) -> Self {
        let executor = ToolExecutor::default();
        let failures = Arc::new(Mutex::new(Vec::new()));
        let noted = failures.clone();
        let mut deps = ServerDeps {
            announce: Arc::new(move |told| noted.lock().unwrap().push(told.clone())),
            ..ServerDeps::new(executor.tools())
        };
        change(&mut deps);
        let configs: IndexMap<_, _> =
            configs.into_iter().map(|(name, config)| (name.to_owned(), config)).collect();
        let servers = Servers::start(configs, executor.tools(), &deps).unwrap();
        Self { executor, servers, failures }
    }

    /// Starts one misbehaving server, called `s`, that is tried again at once.
    async fn misbehaving(modes: &str) -> Self {
        Self::configured(misbehaving(modes)).await
    }

    async fn configured(config: ServerConfig) -> Self {
        let test = Self::with(Duration::from_millis(1), [("s", config)]);
        test.servers.wait_until_ready().await;
        test
    }

    async fn call(
        &self,
        name: &str,
        args: serde_json::Value,
    ) -> switchboard_runtime::toolcall::ToolResult {
        self.executor.call(name, args).await
    }

    fn tool_names(&self) -> Vec<String> {
        self.executor.tools().all().iter().map(|tool| tool.name().to_string()).collect()
    }
}

/// The settings of a server that misbehaves so.
fn misbehaving(modes: &str) -> ServerConfig {
    ServerConfig {
        command: Some(example("misbehaving_server").display().to_string()),
        args: vec![modes.to_owned()],
        ..ServerConfig::default()
    }
}

/// Waits until it is so; a test that waits for ever has failed.
async fn until(mut so: impl FnMut() -> bool) {
    let wait = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("it never came to be");
}
