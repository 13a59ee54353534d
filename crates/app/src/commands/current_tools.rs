//! The tools of the current config, to compare with those of the records.

use std::{collections::HashMap, sync::Arc};

use switchboard_audit::Record;
use switchboard_runtime::RegisteredTool;

use crate::{
    assembly::App,
    cli::Cli,
    connections::{Needs, with_servers},
    interrupt::unless_interrupted,
    own_gateway::OwnGateway,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
};

/// Returns the tools of the current config, by name. Servers are asked only if the records have calls to one of them.
///
/// # Errors
/// Something in the config cannot be used.
pub(super) fn tools(
    cli: &Cli,
    loaded: &LoadedConfig,
    records: &[Record],
    json: bool,
) -> anyhow::Result<HashMap<String, Arc<RegisteredTool>>> {
    let app = App::build(loaded)?;
    let has_calls =
        |server: &str| records.iter().any(|record| record.server.as_deref() == Some(server));
    if !loaded.enabled_servers().any(|(server, _)| has_calls(server)) {
        Ok(by_name(&app))
    } else if let Some(gateway) = OwnGateway::find(cli, loaded) {
        on_runtime(unless_interrupted(gateway.add_tools(&app, loaded)))?;
        Ok(by_name(&app))
    } else {
        with_servers(&app, loaded, Needs::All, async |connections| {
            let settled = async {
                connections.wait_until_ready(is_watched(json)).await;
                Ok(())
            };
            unless_interrupted(settled).await?;
            Ok(by_name(&app))
        })
    }
}

fn by_name(app: &App) -> HashMap<String, Arc<RegisteredTool>> {
    let all = app.executor.tools().all();
    all.into_iter().map(|tool| (tool.name().to_string(), tool)).collect()
}
