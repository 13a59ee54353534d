//! Finds a model if none is named: one whose key is in the environment, else one of an Ollama on this machine.

use std::time::Duration;

use anyhow::anyhow;
use switchboard_models::{
    ModelConfig, Provider,
    ollama::{InstalledModel, installed},
};
use switchboard_toolcall::HumanDuration;

use super::{advice, filled, host};
/// The variable with the address of the user's Ollama.
pub(super) const VARIABLE: &str = "OLLAMA_HOST";

/// How long an Ollama may take to answer; it answers at once even while it loads a model.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the settings of a model that can be used, and why it was chosen.
///
/// # Errors
/// There is no key, and no Ollama, or it has no model: the text says how to get one.
pub(super) async fn find() -> anyhow::Result<(ModelConfig, String)> {
    found().await.map_err(|empty| anyhow!(advice::no_model(empty.as_deref())))
}

/// As [`find`]; the error is the address of an Ollama without models, if there is one.
pub(crate) async fn found() -> Result<(ModelConfig, String), Option<String>> {
    if let Some(found) = with_key() {
        return Ok(found);
    }
    for url in places() {
        let Ok(models) = installed(&probe(&url)).await else { continue };
        let Some(model) = best(&models) else { return Err(Some(url)) };
        let reason = match model.calls_tools {
            Some(true) => "an Ollama is running, and its model can call tools",
            _ => "an Ollama is running",
        };
        let model = ModelConfig::new(Provider::Ollama, model.name.clone());
        return Ok((ModelConfig { base_url: Some(url), ..model }, reason.to_owned()));
    }
    Err(None)
}

/// Returns the default model of the first provider whose key is in the environment.
fn with_key() -> Option<(ModelConfig, String)> {
    Provider::ALL.iter().find_map(|provider| {
        let info = provider.info();
        let (variable, model) = (info.key_variable?, info.default_model?);
        filled(variable)?;
        Some((ModelConfig::new(*provider, model), format!("{variable} is set")))
    })
}

/// Where to look, in order (ML-10).
fn places() -> Vec<String> {
    let usual = Provider::Ollama.info().default_base_url.to_owned();
    let mut places: Vec<_> =
        filled(VARIABLE).map(|host| host::of_ollama(&host)).into_iter().collect();
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

/// Returns the first model that can call tools, or else the first.
fn best(models: &[InstalledModel]) -> Option<&InstalledModel> {
    models.iter().find(|model| model.calls_tools == Some(true)).or(models.first())
}
