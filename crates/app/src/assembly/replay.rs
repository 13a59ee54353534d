//! An app whose tools give recorded answers (`--replay`).

use std::{collections::HashMap, sync::Arc};

use indexmap::IndexMap;
use switchboard_local::{Handlers, ToolDefinition, builtins, replay};
use switchboard_runtime::{ServerSettings, services};
use switchboard_toolcall::{Tool, ToolSpec};

use super::App;
use crate::{overrides::Replay, settings::LoadedConfig};

impl App {
    /// Adds the tools of a replay, those of servers under their servers.
    pub(super) fn add_replayed_tools(
        &self,
        replay: &Replay,
        loaded: &LoadedConfig,
        problems: &mut Vec<String>,
    ) {
        let definitions = match replay {
            Replay::Tools(definitions) => definitions.clone(),
            Replay::Calls(calls) => {
                let known = self.specs_here(loaded);
                replay::definitions(calls.iter().cloned(), |name| known.get(name).cloned())
            }
        };
        let separator = self.executor.tools().separator().to_owned();
        let mut servers = IndexMap::<&str, Vec<Arc<dyn Tool>>>::new();
        for definition in &definitions {
            match definition.name.split_once(&separator) {
                Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                    match replay::of_server(definition, server, tool) {
                        Ok(tool) => servers.entry(server).or_default().push(tool),
                        Err(problem) => problems.push(problem.to_string()),
                    }
                }
                _ => problems.extend(self.add_mock(definition).err()),
            }
        }
        for (server, tools) in servers {
            let added = self.executor.tools().add_server(server, ServerSettings::default());
            problems.extend(added.err().map(|error| error.to_string()));
            let skipped = self.executor.tools().set_server_tools(server, tools);
            problems.extend(skipped.iter().map(ToString::to_string));
        }
        self.add_reader_of_results(&definitions, problems);
    }

    fn add_mock(&self, definition: &ToolDefinition) -> Result<(), String> {
        let tool =
            definition.clone().into_tool(&self.handlers).map_err(|error| error.to_string())?;
        self.executor.tools().add_shared(tool).map_err(|error| error.to_string())
    }

    /// Adds `read_result`, which cut results refer to, unless it is among the recorded tools.
    fn add_reader_of_results(&self, definitions: &[ToolDefinition], problems: &mut Vec<String>) {
        let is_reader = |tool: &Arc<dyn Tool>| tool.spec().name == "read_result";
        let reader = services::all(&self.executor).into_iter().find(is_reader);
        let is_recorded = definitions.iter().any(|definition| definition.name == "read_result");
        if let Some(reader) = reader.filter(|_| !is_recorded) {
            let added = self.executor.tools().add_shared(reader);
            problems.extend(added.err().map(|error| error.to_string()));
        }
    }

    /// Returns the specs of the built-in tools, the runtime's and the config's; starts nothing.
    fn specs_here(&self, loaded: &LoadedConfig) -> HashMap<String, ToolSpec> {
        let defined = loaded.settings.tools.iter();
        let defined =
            defined.filter_map(|definition| definition.clone().into_tool(&Handlers::new()).ok());
        let own = builtins::all(&loaded.settings.builtins);
        let own = own.into_iter().chain(services::all(&self.executor));
        own.chain(defined).map(|tool| (tool.spec().name.clone(), tool.spec().clone())).collect()
    }
}
