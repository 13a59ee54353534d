//! The tools that there are now, beside the tools that there were.

use std::{collections::HashMap, sync::Arc};

use switchboard_audit::Record;
use switchboard_runtime::RegisteredTool;

use crate::{
    assembly::App,
    connections::{Needs, with_servers},
    interrupt::unless_interrupted,
    settings::Loaded,
    terminal::is_watched,
};

/// The tools of the present config, by name; servers are started only where the records have calls of theirs.
///
/// # Errors
/// Something in the config cannot be used.
pub(super) fn tools(
    loaded: &Loaded,
    records: &[Record],
    json: bool,
) -> anyhow::Result<HashMap<String, Arc<RegisteredTool>>> {
    let app = App::build(loaded)?;
    let has_calls =
        |server: &str| records.iter().any(|record| record.server.as_deref() == Some(server));
    if loaded.enabled_servers().any(|(server, _)| has_calls(server)) {
        with_servers(&app, loaded, Needs::All, async |connections| {
            let settled = async {
                connections.settled(is_watched(json)).await;
                Ok(())
            };
            unless_interrupted(settled).await?;
            Ok(by_name(&app))
        })
    } else {
        Ok(by_name(&app))
    }
}

fn by_name(app: &App) -> HashMap<String, Arc<RegisteredTool>> {
    let all = app.executor.tools().all();
    all.into_iter().map(|tool| (tool.name().to_string(), tool)).collect()
}
