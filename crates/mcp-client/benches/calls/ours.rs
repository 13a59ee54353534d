//! Our client, by itself and below the executor.

use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Value, json};
use switchboard_mcp_client::{
    Protocol, RemoteTool, ServerConfig, ServerDeps, ServerState, Servers,
};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, Tool},
};
use tokio::time::Instant;

use crate::{WARM, fixture::Fixture, median};

/// An executor with the fixture, connected.
pub(crate) struct Ours {
    executor: ToolExecutor,
    servers: Servers,
    tool: RemoteTool,
    /// How long it took until all tools were known.
    pub(crate) connecting: Duration,
}

impl Ours {
    pub(crate) async fn connect(fixture: &Fixture, protocol: Protocol) -> Self {
        let executor = ToolExecutor::default();
        let deps = ServerDeps::new(executor.tools());
        let began = Instant::now();
        let config = ServerConfig { protocol, ..fixture.config() };
        let configs = IndexMap::from([("s".to_owned(), config)]);
        let servers = Servers::start(configs, executor.tools(), &deps).unwrap();
        servers.wait_until_ready().await;
        let connecting = began.elapsed();
        let server = servers.get("s").unwrap();
        assert!(matches!(server.state(), ServerState::Ready(_)), "not connected");
        let entry = json!({"name": "echo", "inputSchema": {"type": "object"}});
        let tool = RemoteTool::new(entry, &server, "__").unwrap();
        Self { executor, servers, tool, connecting }
    }

    /// The median of a round of calls by the client alone, in microseconds.
    pub(crate) async fn client(&self, calls: usize) -> f64 {
        let cx = CallContext::default();
        let call = async |args| {
            let output = self.tool.call(args, &cx).await.unwrap();
            output.text()
        };
        round(calls, call).await
    }

    /// The same through the executor: lookup, validation, policy, deadline, record, shape.
    pub(crate) async fn executor(&self, calls: usize) -> f64 {
        round(calls, async |args| self.executor.call("s__echo", args).await.text()).await
    }

    pub(crate) async fn close(&self) {
        self.servers.close().await;
    }
}

async fn round(calls: usize, call: impl AsyncFn(Value) -> String) -> f64 {
    let mut micros = Vec::with_capacity(calls);
    for number in 0..WARM + calls {
        let text = format!("{number:0>200}");
        let args = json!({"text": text});
        let began = Instant::now();
        let answer = call(args).await;
        let took = began.elapsed();
        assert_eq!(answer, text);
        if number >= WARM {
            micros.push(took.as_secs_f64() * 1e6);
        }
    }
    median(&micros)
}
