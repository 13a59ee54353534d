//! The window of a model at Anthropic: what `/v1/models/NAME` says, else what its models have had at least.

use super::client::headers;
use crate::{ModelConfig, ModelError, exchange::parse, http::ProviderEndpoint, window};

/// The smallest window of all models that can call tools.
const AT_LEAST: u64 = 200_000;

pub(super) async fn ask(config: &ModelConfig) -> Option<u64> {
    let said = async {
        let path = format!("/v1/models/{}", config.model);
        let answer = ProviderEndpoint::new(config, &path, headers(config))?.get().await?;
        let model = parse(&answer.whole().await?)?;
        Ok::<_, ModelError>(window::first_number(&model, &["max_input_tokens", "context_window"]))
    };
    match said.await {
        Ok(Some(window)) => Some(window),
        Ok(None) => of_name(&config.model),
        Err(error) => {
            tracing::debug!(%error, "Anthropic does not say how large the model's window is");
            of_name(&config.model)
        }
    }
}

/// Others that speak like Anthropic have other models.
fn of_name(model: &str) -> Option<u64> {
    model.starts_with("claude").then_some(AT_LEAST)
}
