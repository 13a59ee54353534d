//! Whether OpenAI, or a server that speaks like it, has the model.

use super::INFO;
use crate::{
    FailureKind, ModelConfig, ModelError,
    exchange::parse,
    http::{ProviderEndpoint, bearer},
    json,
    provider::is_believed,
};

/// Looks the model up in the list of models. Only OpenAI's own list is complete: others take names that they do not list.
pub(super) async fn check(config: &ModelConfig) -> Result<(), ModelError> {
    let endpoint = ProviderEndpoint::new(config, "/models", bearer(config))?;
    let answer = async { endpoint.get().await?.whole().await };
    let is_complete = config.base_url().trim_end_matches('/') == INFO.default_base_url;
    match answer.await {
        Err(error) if is_believed(&error) => Ok(()),
        answer => look_up(&config.model, &answer?, is_complete),
    }
}

fn look_up(model: &str, answer: &[u8], is_complete: bool) -> Result<(), ModelError> {
    let listed = parse(answer).unwrap_or_default();
    let models = json::items(&listed, "data");
    let is_listed = models.iter().any(|listed| json::text(listed, "id") == Some(model));
    if is_listed || !is_complete || models.is_empty() {
        return Ok(());
    }
    let text = format!("OpenAI has no model {model} for this key");
    let mut missing = ModelError::new(FailureKind::Rejected, text);
    missing.status = Some(404);
    Err(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_list_says_that_a_model_is_missing() {
        let list = br#"{"data": [{"id": "gpt-5-mini"}]}"#;
        assert!(look_up("gpt-5-mini", list, true).is_ok());
        assert!(look_up("gpt-9", list, false).is_ok());
        for unclear in [&b"<html>"[..], b"{}", br#"{"data": []}"#] {
            assert!(look_up("gpt-9", unclear, true).is_ok());
        }
        let error = look_up("gpt-9", list, true).unwrap_err();
        assert_eq!((error.kind, error.status), (FailureKind::Rejected, Some(404)));
        assert_eq!(error.message, "OpenAI has no model gpt-9 for this key");
    }
}
