//! The servers of the gateway, and waiting for them.

use std::time::Duration;

use serde_json::Value;
use switchboard_toolcall::HumanDuration;
use tokio::time::{Instant, sleep};

use super::{OwnGateway, path};
use crate::{
    settings::LoadedConfig,
    terminal::{self, text},
};

/// How often to ask whether servers are connected.
const STEP: Duration = Duration::from_millis(50);

impl OwnGateway {
    /// The servers, as REST shows them.
    ///
    /// # Errors
    /// The gateway went away.
    pub(crate) async fn servers(&self) -> anyhow::Result<Vec<Value>> {
        match self.get("/api/servers").await? {
            Value::Array(servers) => Ok(servers),
            _ => Ok(Vec::new()),
        }
    }

    /// Waits until all servers, or the `only` one that matters, are connected or have failed, no longer than
    /// `[mcp] startup_wait`. Starts those that nobody has needed yet.
    ///
    /// # Errors
    /// The gateway went away.
    pub(crate) async fn wait_for_servers(
        &self,
        loaded: &LoadedConfig,
        only: Option<&str>,
    ) -> anyhow::Result<()> {
        let limit = loaded.settings.mcp.startup_wait.0;
        let began = Instant::now();
        let mut is_first = true;
        loop {
            let servers = self.servers().await?;
            let in_state = |state: &str| {
                let some = servers.iter().filter(|server| server["state"] == state);
                let names = some.filter_map(|server| server["name"].as_str());
                let names = names.filter(|name| only.is_none_or(|only| *name == only));
                names.map(str::to_owned).collect::<Vec<_>>()
            };
            let idle = if is_first { in_state("idle") } else { Vec::new() };
            for name in &idle {
                self.post(&format!("/api/servers/{}/reconnect", path(name))).await?;
            }
            let missing = in_state("connecting");
            if missing.is_empty() && idle.is_empty() {
                return Ok(());
            }
            if began.elapsed() >= limit {
                let (names, limit) = (text::one_line(&missing.join(", ")), HumanDuration(limit));
                terminal::tell(&format!(
                    "⚠️ Continuing without {names}: not connected within {limit} (`[mcp] startup_wait`)"
                ));
                return Ok(());
            }
            is_first = false;
            sleep(STEP).await;
        }
    }
}
