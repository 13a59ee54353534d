//! Ollama's own `/api/chat`, with the care that local models and their templates need.

mod client;
mod check;
mod window;
mod convert;
mod wire;
mod installed;
mod show;

use std::sync::Arc;

pub use client::OllamaClient;
pub use convert::convert_tools;
pub use installed::{InstalledModel, installed};
pub use show::can;

use super::ProviderInfo;
use crate::frames::Framing;

pub(super) static INFO: ProviderInfo = ProviderInfo {
    code: "ollama",
    telemetry_name: "ollama",
    default_base_url: "http://127.0.0.1:11434",
    key_variable: None,
    base_url_variable: None,
    default_model: None,
    context_setting: Some("num_ctx"),
    unknown_model_advice: Some(
        "`ollama list` shows the models that there are, `ollama pull` gets others",
    ),
    first_steps: "Ollama (free, on this machine): install it from https://ollama.com, then\n  \
        ollama pull qwen3:0.6b\n  \
        switchboard ask -m ollama:qwen3:0.6b \"…\"",
    redundant_path: Some("/api"),
    unreachable_hint: "; is Ollama running?",
    leaks_calls: true,
    folds_schemas: true,
    framing: Framing::Lines,
    connect: |config| Ok(Arc::new(OllamaClient::new(config)?)),
    check: |config| Box::pin(check::check(config)),
    window: |config| Box::pin(window::ask(config)),
    request: convert::request,
    reader: |body| Box::new(wire::OllamaReader::new(body)),
};
