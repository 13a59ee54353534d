//! Servers over HTTP and stdio, and as the executor's callers see them: connected, lost, back again, and never in the way.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod calls;
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
use switchboard_mcp_client::{GivenUp, ServerConfig, Servers, Surroundings};
use switchboard_runtime::{ToolExecutor, toolcall::HumanDuration};
use switchboard_testkit::parts::example;

/// An executor with servers, and what was said of those given up.
struct House {
    executor: ToolExecutor,
    servers: Servers,
    given_up: Arc<Mutex<Vec<GivenUp>>>,
}

impl House {
    /// Starts servers that are tried anew after `base_delay`.
    fn with(
        base_delay: Duration,
        configs: impl IntoIterator<Item = (&'static str, ServerConfig)>,
    ) -> Self {
        Self::in_surroundings(configs, |around| {
            around.mcp.retry_base_delay = HumanDuration(base_delay);
        })
    }

    /// Starts servers in surroundings that `change` makes different from the usual ones.
    fn in_surroundings(
        configs: impl IntoIterator<Item = (&'static str, ServerConfig)>,
        change: impl FnOnce(&mut Surroundings),
    ) -> Self {
        let executor = ToolExecutor::default();
        let given_up = Arc::new(Mutex::new(Vec::new()));
        let noted = given_up.clone();
        let mut around = Surroundings {
            announce: Arc::new(move |told| noted.lock().unwrap().push(told.clone())),
            ..Surroundings::new(executor.tools())
        };
        change(&mut around);
        let configs: IndexMap<_, _> =
            configs.into_iter().map(|(name, config)| (name.to_owned(), config)).collect();
        let servers = Servers::start(configs, executor.tools(), &around).unwrap();
        Self { executor, servers, given_up }
    }

    /// Starts one misbehaving server, called `s`, that is tried anew at once.
    async fn misbehaving(modes: &str) -> Self {
        Self::configured(misbehaving(modes)).await
    }

    async fn configured(config: ServerConfig) -> Self {
        let house = Self::with(Duration::from_millis(1), [("s", config)]);
        house.servers.settled().await;
        house
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
