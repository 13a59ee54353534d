//! The settings with which servers are started.

use anyhow::Context;
use indexmap::IndexMap;
use switchboard_mcp_client::{ServerConfig, Start};

use super::{Needs, questions};
use crate::{
    assembly::App,
    settings::{LoadedConfig, own_servers},
};

impl App {
    /// Returns the settings of all servers, with the answers to `${input:…}` filled in. A server that needs an answer is
    /// skipped if there is no terminal to ask on.
    ///
    /// # Errors
    /// The person was asked and gave no answer.
    pub(super) fn configs(
        &self,
        loaded: &LoadedConfig,
        needs: Needs<'_>,
    ) -> anyhow::Result<IndexMap<String, ServerConfig>> {
        let mut configs = loaded.settings.servers.clone();
        let mut answers = questions::InputAnswers::new(&loaded.inputs);
        for (name, config) in configs.iter_mut().filter(|(_, config)| config.is_enabled()) {
            let is_needed = needs.includes(name);
            config.start = match needs {
                Needs::AsSet | Needs::Servers => config.start,
                _ if is_needed => Start::Eager,
                _ => Start::OnDemand,
            };
            if is_needed && config.skipped.is_none() {
                let place = || format!("{}: server `{name}`", loaded.place_of_server(name));
                answers.fill(config).with_context(place)?;
                if let Some(reason) = config.skipped.as_ref().filter(|_| !self.is_quiet) {
                    tracing::warn!("Server '{name}' is skipped: {reason}");
                }
            }
            if let Some(file) = &loaded.file {
                own_servers::share(config, file, loaded.has_section("zwave"));
            }
            for (tool, given, expected) in switchboard_zwave::ARGUMENT_ALIASES {
                let names = config.rename.entry(tool.to_owned()).or_default();
                names.entry(given.to_owned()).or_insert_with(|| expected.to_owned());
            }
        }
        Ok(configs)
    }
}
