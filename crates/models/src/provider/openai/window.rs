//! The window of a model behind chat completions. OpenAI itself does not say; most of the others do, each in its own field.

use serde_json::Value;

use super::INFO;
use crate::{
    ModelConfig, ModelError,
    exchange::parse,
    http::{ProviderEndpoint, bearer},
    json, window,
};

/// vLLM, LM Studio, OpenRouter and Together, Groq, Mistral.
const FIELDS: &[&str] = &[
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
];

/// The windows of OpenAI's own models, by how their names begin.
const OF_NAMES: &[(&str, u64)] = &[
    ("gpt-5.4-mini", 400_000),
    ("gpt-5.4-nano", 400_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5.5", 1_050_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
];

pub(super) async fn ask(config: &ModelConfig) -> Option<u64> {
    if config.base_url().trim_end_matches('/') == INFO.default_base_url {
        return of_name(&config.model);
    }
    match reported_window(config).await {
        Ok(window) => window,
        Err(error) => {
            tracing::debug!(%error, "the provider does not say how large the model's window is");
            None
        }
    }
}

fn of_name(model: &str) -> Option<u64> {
    OF_NAMES.iter().find(|(start, _)| model.starts_with(start)).map(|(_, window)| *window)
}

async fn reported_window(config: &ModelConfig) -> Result<Option<u64>, ModelError> {
    let listed = get(config, "/models").await?;
    let Some(model) = entry(&listed, &config.model) else { return Ok(None) };
    if let Some(window) = window::first_number(model, FIELDS) {
        return Ok(Some(window));
    }
    // llama.cpp lists what the model was trained with, and says elsewhere how much of it is served.
    let Some(trained) = model.get("meta").and_then(|meta| json::number(meta, "n_ctx_train")) else {
        return Ok(None);
    };
    let root = config.base_url().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let root = ModelConfig { base_url: Some(root), ..config.clone() };
    let props = get(&root, "/props").await.unwrap_or_default();
    let settings = props.get("default_generation_settings");
    let served = settings.and_then(|settings| json::number(settings, "n_ctx"));
    Ok(Some(served.filter(|served| *served > 0).map_or(trained, |served| served.min(trained))))
}

/// Returns the model's entry; of a server with one model that entry, whatever the model is called.
fn entry<'a>(listed: &'a Value, model: &str) -> Option<&'a Value> {
    let models = json::items(listed, "data");
    let named = models.iter().find(|listed| json::text(listed, "id") == Some(model));
    match models {
        [only] => Some(only),
        _ => named,
    }
}

async fn get(config: &ModelConfig, path: &str) -> Result<Value, ModelError> {
    let answer = ProviderEndpoint::new(config, path, bearer(config))?.get().await?;
    parse(&answer.whole().await?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // RN-3
    #[test]
    fn names_and_lists_tell_the_window() {
        assert_eq!(of_name("gpt-5-mini"), Some(400_000));
        assert_eq!(of_name("gpt-4o-mini"), Some(128_000));
        assert_eq!(of_name("gpt-oss:20b"), None);
        let listed = json!({"data": [{"id": "a", "max_model_len": 4096}, {"id": "b", "context_window": 131_072}]});
        let window = |model| window::first_number(entry(&listed, model)?, FIELDS);
        assert_eq!((window("a"), window("b"), window("c")), (Some(4096), Some(131_072), None));
        let alone = json!({"data": [{"id": "/models/smol.gguf", "meta": {"n_ctx_train": 8192}}]});
        assert!(entry(&alone, "smol").is_some());
    }
}
