//! The tools of the servers, as the running gateway lists them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use switchboard_runtime::ServerSettings;
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, ErrorKind, HumanDuration, Origin, Tool, ToolError,
    ToolOutput, ToolSpec,
};
use tokio::time::{Instant, sleep};

use crate::{
    assembly::App,
    own_gateway::{OwnGateway, path},
    settings::Loaded,
    terminal::{self, text},
};

/// How often it is asked whether servers are connected.
const STEP: std::time::Duration = std::time::Duration::from_millis(50);

/// A tool as REST lists it.
#[derive(Deserialize)]
struct ListedTool {
    name: String,
    description: String,
    parameters: Value,
    server: Option<String>,
    annotations: Annotations,
    output_schema: Option<Value>,
}

/// Adds the tools of all servers to those that are here already, as soon as the gateway's servers are connected.
///
/// # Errors
/// The gateway went away.
pub(super) async fn add(app: &App, loaded: &Loaded, gateway: &OwnGateway) -> anyhow::Result<()> {
    settled(loaded, gateway).await?;
    let listed: Vec<ListedTool> =
        serde_json::from_value(gateway.get("/api/tools?denied=1").await?)?;
    let tools = app.executor.tools();
    let mut servers: Vec<&str> = loaded.enabled_servers().map(|(name, _)| name.as_str()).collect();
    for server in listed.iter().filter_map(|tool| tool.server.as_deref()) {
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    for server in servers {
        let prefix = loaded.settings.servers.get(server).and_then(|config| config.prefix.clone());
        let shown = match prefix.as_deref() {
            Some("") => String::new(),
            own => format!("{}{}", own.unwrap_or(server), tools.separator()),
        };
        tools.add_server(server, ServerSettings { prefix, ..ServerSettings::default() })?;
        let own = listed.iter().filter(|tool| tool.server.as_deref() == Some(server));
        let own = own.map(|tool| tool.stub(server, &shown, tools.separator()));
        tools.set_server_tools(server, own.collect());
    }
    Ok(())
}

/// Waits until all servers are connected or have failed, no longer than `[mcp] startup_wait`. Starts those that nobody has
/// needed yet.
async fn settled(loaded: &Loaded, gateway: &OwnGateway) -> anyhow::Result<()> {
    let limit = loaded.settings.mcp.startup_wait.0;
    let began = Instant::now();
    let mut is_first = true;
    loop {
        let servers = gateway.get("/api/servers").await?;
        let in_state = |state: &str| {
            let servers = servers.as_array().into_iter().flatten();
            let some = servers.filter(|server| server["state"] == state);
            some.filter_map(|server| server["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let idle = if is_first { in_state("idle") } else { Vec::new() };
        for name in &idle {
            gateway.post(&format!("/api/servers/{}/reconnect", path(name))).await?;
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

impl ListedTool {
    fn stub(&self, server: &str, shown: &str, separator: &str) -> Arc<dyn Tool> {
        let tool = self.name.strip_prefix(shown).unwrap_or(&self.name);
        let name = format!("{server}{separator}{tool}");
        let mut spec = ToolSpec::new(name, &self.description, self.parameters.clone());
        spec.annotations = self.annotations;
        spec.output_schema = self.output_schema.clone();
        spec.origin = Origin::Server { server: server.into(), tool: tool.into() };
        Arc::new(Stub(spec))
    }
}

/// A tool that is only shown.
struct Stub(ToolSpec);

impl Tool for Stub {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let error = ToolError::new(ErrorKind::Unavailable, "the gateway has this tool");
        Box::pin(std::future::ready(Err(error)))
    }
}
