//! Queries Ollama about one model (`/api/show`).

use serde_json::{Value, json};

use crate::{
    ModelConfig, ModelError,
    exchange::parse,
    http::{ProviderEndpoint, bearer},
};

/// Returns whether the model has a capability such as `tools` or `vision`; `None` if Ollama does not say, as old builds do
/// not. A failure is no answer either: it will be told when the model is asked.
pub async fn can(config: &ModelConfig, capability: &str) -> Option<bool> {
    let shown = match show(config).await {
        Ok(shown) => shown,
        Err(error) => {
            tracing::debug!(%error, "Ollama does not say what the model can do");
            return None;
        }
    };
    let capabilities = shown.get("capabilities")?.as_array()?;
    Some(capabilities.iter().any(|one| one == capability))
}

async fn show(config: &ModelConfig) -> Result<Value, ModelError> {
    let body = json!({"model": config.model}).to_string().into_bytes();
    let answer = ProviderEndpoint::new(config, "/api/show", bearer(config))?.post(body).await?;
    parse(&answer.whole().await?)
}
