//! What to do where there is no model, or where it failed.

use switchboard_models::{FailureKind, ModelError, Provider};

/// How to get a model from each provider; `empty` is an Ollama that has none.
pub(super) fn no_model(empty: Option<&str>) -> String {
    let found = match empty {
        Some(url) => format!("the Ollama at {url} has no model yet"),
        None => "the config has no [models.*], and no Ollama answers on this machine".to_owned(),
    };
    format!(
        "there is no model to ask: {found}\n\n\
         Ollama (free, on this machine): install it from https://ollama.com, then\n  \
           ollama pull qwen3:0.6b\n  \
           switchboard ask -m ollama:qwen3:0.6b \"…\"\n\
         Anthropic:\n  \
           export ANTHROPIC_API_KEY=…\n  \
           switchboard ask -m anthropic:claude-sonnet-4-5 \"…\"\n\
         OpenAI, or any server that speaks its chat completions:\n  \
           export OPENAI_API_KEY=…\n  \
           switchboard ask -m openai:gpt-5-mini \"…\"\n  \
           switchboard ask -m openai:NAME@http://127.0.0.1:8080/v1 \"…\"\n\
         None at all, to see how it works (the format: docs/models.md):\n  \
           switchboard ask -m script:demo \"…\"\n\n\
         To use one every time, write it into switchboard.toml:\n  \
           [models.local]\n  \
           provider = \"ollama\"\n  \
           model = \"qwen3:0.6b\""
    )
}

/// What to do after a failure, where there is something to do that the failure does not say itself.
pub(crate) fn after_failure(
    error: &ModelError,
    provider: Provider,
    offers_tools: bool,
) -> Option<&'static str> {
    match (error.kind, provider) {
        (FailureKind::Auth, Provider::Anthropic) => {
            Some("check ANTHROPIC_API_KEY, or `api_key` of the model")
        }
        (FailureKind::Auth, Provider::OpenAi) => {
            Some("check OPENAI_API_KEY, or `api_key` of the model")
        }
        (FailureKind::Connect, _) => Some("`switchboard doctor` shows which models can be reached"),
        (FailureKind::RateLimited | FailureKind::Overloaded, _) => Some("try again in a while"),
        (FailureKind::ContextFull, _) => Some(after_overflow(provider, offers_tools)),
        (FailureKind::Timeout, _) => Some("set a longer `idle_timeout` for the model"),
        (FailureKind::Rejected, Provider::Ollama) if error.status == Some(404) => {
            Some("`ollama list` shows the models that there are, `ollama pull` gets others")
        }
        (FailureKind::Rejected, _) if error.message.contains("not support tools") => {
            Some("choose another model, or offer no tools (--tools '')")
        }
        (FailureKind::Rejected, _) if error.message.contains("not support thinking") => {
            Some("leave `think` out of the model's settings, or choose another model")
        }
        _ => None,
    }
}

/// What to do if the conversation does not fit the model.
pub(crate) fn after_overflow(provider: Provider, offers_tools: bool) -> &'static str {
    match (provider, offers_tools) {
        (Provider::Ollama, true) => "offer fewer tools (--tools), or set a larger `num_ctx`",
        (Provider::Ollama, false) => "set a larger `num_ctx`, or ask with less text",
        (_, true) => "offer fewer tools (--tools), or begin anew",
        (_, false) => "ask with less text, or begin anew",
    }
}
