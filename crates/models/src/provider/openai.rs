//! OpenAI chat completions, as OpenAI and everybody else speaks them: vLLM, llama.cpp, LM Studio, OpenRouter, …

mod client;
mod check;
mod window;
mod convert;
mod wire;
mod calls;
mod argument_text;

use std::sync::Arc;

pub use client::OpenAiClient;
pub use convert::convert_tools;

use super::ProviderInfo;
use crate::frames::Framing;

pub(super) static INFO: ProviderInfo = ProviderInfo {
    code: "openai",
    telemetry_name: "openai",
    default_base_url: "https://api.openai.com/v1",
    key_variable: Some("OPENAI_API_KEY"),
    base_url_variable: Some("OPENAI_BASE_URL"),
    default_model: Some("gpt-5-mini"),
    context_setting: None,
    unknown_model_advice: Some("choose another model: -m openai:NAME"),
    first_steps: "OpenAI, or any server that speaks its chat completions:\n  \
        export OPENAI_API_KEY=…\n  \
        switchboard ask -m openai:gpt-5-mini \"…\"\n  \
        switchboard ask -m openai:NAME@http://127.0.0.1:8080/v1 \"…\"",
    redundant_path: None,
    unreachable_hint: "",
    leaks_calls: true,
    folds_schemas: false,
    framing: Framing::Events,
    connect: |config| Ok(Arc::new(OpenAiClient::new(config)?)),
    check: |config| Box::pin(check::check(config)),
    window: |config| Box::pin(window::ask(config)),
    request: convert::request,
    reader: |body| Box::new(wire::OpenAiReader::new(body)),
};
