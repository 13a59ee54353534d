//! Whether Anthropic has the model.

use super::{INFO, client::headers};
use crate::{FailureKind, ModelConfig, ModelError, http::ProviderEndpoint, provider::is_believed};

/// Asks about the one model: its name may be an alias, which no list has.
pub(super) async fn check(config: &ModelConfig) -> Result<(), ModelError> {
    let path = format!("/v1/models/{}", config.model);
    let is_home = config.base_url().trim_end_matches('/') == INFO.default_base_url;
    let answer = ProviderEndpoint::new(config, &path, headers(config))?.get().await;
    judged(&config.model, answer.map(drop), is_home)
}

fn judged(model: &str, answer: Result<(), ModelError>, is_home: bool) -> Result<(), ModelError> {
    match answer {
        // Others that speak like Anthropic may not have this path.
        Err(error) if error.status == Some(404) && is_home => {
            let text = format!("Anthropic has no model {model}");
            let mut missing = ModelError::new(FailureKind::Rejected, text);
            missing.status = error.status;
            Err(missing)
        }
        Err(error) if is_believed(&error) => Ok(()),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_fails_and_the_rest_is_believed() {
        let check = |kind, status, is_home| {
            let mut error = ModelError::new(kind, "no");
            error.status = status;
            judged("m", Err(error), is_home).map_err(|error| error.message)
        };
        let missing = Err("Anthropic has no model m".to_owned());
        assert_eq!(check(FailureKind::Rejected, Some(404), true), missing);
        assert_eq!(check(FailureKind::Rejected, Some(404), false), Ok(()));
        assert_eq!(check(FailureKind::Auth, Some(401), true), Err("no".to_owned()));
        assert_eq!(check(FailureKind::Auth, Some(403), true), Ok(()));
        assert_eq!(check(FailureKind::Connect, None, true), Err("no".to_owned()));
        for passing in [FailureKind::Timeout, FailureKind::Overloaded, FailureKind::Unreadable] {
            assert_eq!(check(passing, Some(503), true), Ok(()));
        }
        assert_eq!(judged("m", Ok(()), true).map_err(|error| error.message), Ok(()));
    }
}
