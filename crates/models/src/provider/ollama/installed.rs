//! Which models an Ollama has.

use crate::{
    FailureKind, ModelConfig, ModelError,
    exchange::parse,
    http::{ProviderEndpoint, bearer},
    json,
};

/// A model that an Ollama has on its disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledModel {
    /// Its name, as `model` takes it.
    pub name: String,
    /// Whether it can call tools; old builds do not say.
    pub calls_tools: Option<bool>,
    /// The model's context length, if that is known.
    pub context_length: Option<u64>,
}

/// The models of the Ollama that the settings point to, newest first as Ollama lists them.
///
/// Short timeouts in the settings make this a way to see whether one is there.
///
/// # Errors
/// There is no Ollama, or something else answered.
pub async fn installed(config: &ModelConfig) -> Result<Vec<InstalledModel>, ModelError> {
    let answer = ProviderEndpoint::new(config, "/api/tags", bearer(config))?.get().await?;
    let answer = parse(&answer.whole().await?)?;
    if !answer.get("models").is_some_and(|models| models.is_array()) {
        return Err(ModelError::new(FailureKind::Unreadable, "what answered is not Ollama"));
    }
    let models = json::items(&answer, "models").iter().filter_map(|model| {
        let capabilities = model.get("capabilities").and_then(|list| list.as_array());
        Some(InstalledModel {
            name: json::text(model, "name")?.to_owned(),
            calls_tools: capabilities.map(|list| list.iter().any(|one| one == "tools")),
            context_length: model
                .get("details")
                .and_then(|details| json::number(details, "context_length")),
        })
    });
    Ok(models.collect())
}
