//! Advice for people if there is no model, or it failed.

use std::borrow::Cow;

use switchboard_models::{FailureKind, ModelError, Provider};

/// Says how to get a model from each provider; `empty` is the URL of an Ollama that has no model.
pub(super) fn no_model(empty: Option<&str>) -> String {
    let found = match empty {
        Some(url) => format!("the Ollama at {url} has no model yet"),
        None => "the config has no [models.*], no key is in the environment, and no Ollama answers on this machine"
            .to_owned(),
    };
    let mut providers: Vec<_> = Provider::ALL.iter().map(|provider| provider.info()).collect();
    // Providers that need no key come first, and the script, which is not a model, last.
    providers.sort_by_key(|provider| provider.key_variable.is_some());
    providers.push(Provider::Script.info());
    let steps: Vec<_> = providers.iter().map(|provider| provider.first_steps).collect();
    format!(
        "there is no model to ask: {found}\n\n\
         {}\n\n\
         To use one every time, write it into switchboard.toml:\n  \
           [models.local]\n  \
           provider = \"ollama\"\n  \
           model = \"qwen3:0.6b\"",
        steps.join("\n")
    )
}

/// Returns what to do after a failure; `None` if the error says it itself, or there is nothing to do.
pub(crate) fn after_failure(
    error: &ModelError,
    provider: Provider,
    offers_tools: bool,
) -> Option<Cow<'static, str>> {
    let says = |text: &str| error.message.contains(text);
    let advice = match error.kind {
        FailureKind::Auth => {
            let variable = provider.info().key_variable?;
            return Some(format!("check {variable}, or `api_key` of the model").into());
        }
        FailureKind::ContextFull => return Some(after_overflow(provider, offers_tools)),
        FailureKind::Connect => match provider.info().key_variable {
            None => {
                "start it (`ollama serve`), or choose another model with -m; `-m demo` needs none"
            }
            Some(_) => {
                "check the network and `base_url`; `switchboard doctor` shows which models can be reached"
            }
        },
        FailureKind::RateLimited | FailureKind::Overloaded => "try again in a while",
        FailureKind::Timeout => "set a longer `idle_timeout` for the model",
        FailureKind::Rejected => match (error.status, provider.info().unknown_model_advice) {
            (Some(404), Some(advice)) => advice,
            _ if says("not support tools") => {
                "choose another model, or offer no tools (--tools '')"
            }
            _ if says("not support thinking") => {
                "leave `think` out of the model's settings, or choose another model"
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(advice.into())
}

/// Returns what to do if the conversation is too long for the model.
pub(crate) fn after_overflow(provider: Provider, offers_tools: bool) -> Cow<'static, str> {
    match (provider.info().context_setting, offers_tools) {
        (Some(size), true) => {
            format!("offer fewer tools (--tools), or set a larger `{size}`").into()
        }
        (Some(size), false) => format!("set a larger `{size}`, or ask with less text").into(),
        (None, true) => "offer fewer tools (--tools), or start over".into(),
        (None, false) => "ask with less text, or start over".into(),
    }
}
