//! Looks for an Ollama on this machine.

use std::time::Duration;

use anyhow::bail;
use switchboard_models::{
    ModelConfig, Provider,
    ollama::{InstalledModel, installed},
};
use switchboard_toolcall::HumanDuration;

use super::{advice, host};
use crate::environment;

/// Where people say where their Ollama is.
pub(super) const VARIABLE: &str = "OLLAMA_HOST";

/// How long an Ollama may take to show itself; one that loads a model still answers at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// The settings of a model that is installed here.
///
/// # Errors
/// There is no Ollama, or it has no model: the text says how to get one, and what else there is.
pub(super) async fn find() -> anyhow::Result<ModelConfig> {
    for url in places() {
        let Ok(models) = installed(&probe(&url)).await else { continue };
        let Some(model) = best(&models) else {
            bail!(advice::no_model(Some(&url)));
        };
        let model = ModelConfig::new(Provider::Ollama, model.name.clone());
        return Ok(ModelConfig { base_url: Some(url), ..model });
    }
    bail!(advice::no_model(None))
}

/// Where to look, in order (ML-10).
fn places() -> Vec<String> {
    let usual = Provider::Ollama.info().default_base_url.to_owned();
    let named = environment::variable(VARIABLE).ok().filter(|host| !host.trim().is_empty());
    let mut places: Vec<_> = named.map(|host| host::of_ollama(&host)).into_iter().collect();
    if !places.contains(&usual) {
        places.push(usual);
    }
    places
}

/// Settings to find out whether an Ollama is there.
pub(crate) fn probe(url: &str) -> ModelConfig {
    ModelConfig {
        base_url: Some(url.to_owned()),
        connect_timeout: Some(HumanDuration(PATIENCE)),
        idle_timeout: Some(HumanDuration(PATIENCE)),
        ..ModelConfig::new(Provider::Ollama, "")
    }
}

/// The first that can call tools, for that is what we are here for; else the first.
fn best(models: &[InstalledModel]) -> Option<&InstalledModel> {
    models.iter().find(|model| model.calls_tools == Some(true)).or(models.first())
}
