//! Whether an Ollama has the model.

use super::installed;
use crate::{FailureKind, ModelConfig, ModelError, provider::is_believed};

/// Looks the model up among those that are installed.
pub(super) async fn check(config: &ModelConfig) -> Result<(), ModelError> {
    let found = match installed(config).await {
        Err(error) if is_believed(&error) => return Ok(()),
        found => found?,
    };
    let model = &config.model;
    let latest = format!("{model}:latest");
    if found.iter().any(|installed| installed.name == *model || installed.name == latest) {
        return Ok(());
    }
    let names: Vec<_> = found.iter().map(|installed| installed.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let text =
        format!("Ollama does not have {model} (it has {names}); `ollama pull {model}` gets it");
    Err(ModelError::new(FailureKind::Rejected, text))
}
