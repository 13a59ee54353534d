//! The tools of the servers, as the running gateway lists them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use switchboard_runtime::ServerSettings;
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, ErrorKind, Tool, ToolError, ToolOrigin, ToolOutput,
    ToolSpec,
};

use super::OwnGateway;
use crate::{assembly::App, settings::LoadedConfig};

/// A tool as REST lists it.
#[derive(Deserialize)]
struct GatewayTool {
    name: String,
    description: String,
    parameters: Value,
    server: Option<String>,
    annotations: Annotations,
    output_schema: Option<Value>,
}

impl OwnGateway {
    /// Adds the tools of all servers to those that are here already, as soon as the gateway's servers are connected.
    ///
    /// # Errors
    /// The gateway went away.
    pub(crate) async fn add_tools(&self, app: &App, loaded: &LoadedConfig) -> anyhow::Result<()> {
        self.wait_for_servers(loaded, None).await?;
        let listed: Vec<GatewayTool> =
            serde_json::from_value(self.get("/api/tools?denied=1").await?)?;
        let tools = app.executor.tools();
        let mut servers: Vec<&str> =
            loaded.enabled_servers().map(|(name, _)| name.as_str()).collect();
        for server in listed.iter().filter_map(|tool| tool.server.as_deref()) {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        for server in servers {
            let prefix =
                loaded.settings.servers.get(server).and_then(|config| config.prefix.clone());
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
}

impl GatewayTool {
    fn stub(&self, server: &str, shown: &str, separator: &str) -> Arc<dyn Tool> {
        let tool = self.name.strip_prefix(shown).unwrap_or(&self.name);
        let name = format!("{server}{separator}{tool}");
        let mut spec = ToolSpec::new(name, &self.description, self.parameters.clone());
        spec.annotations = self.annotations;
        spec.output_schema = self.output_schema.clone();
        spec.origin = ToolOrigin::Server { server: server.into(), tool: tool.into() };
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
