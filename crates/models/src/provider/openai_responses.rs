//! OpenAI's Responses API, which is the only one with its search for tools.
//!
//! Nothing is left at the provider: every request has the whole conversation, with the reasoning that the provider encrypted.

mod client;
mod convert;
mod wire;
mod output_item;

use std::sync::Arc;

pub use client::OpenAiResponsesClient;
pub use convert::convert_tools;

use super::{ProviderInfo, openai};
use crate::frames::Framing;

pub(super) static INFO: ProviderInfo = ProviderInfo {
    code: "openai-responses",
    telemetry_name: "openai",
    default_base_url: openai::INFO.default_base_url,
    key_variable: openai::INFO.key_variable,
    base_url_variable: openai::INFO.base_url_variable,
    // Who names no provider gets chat completions.
    default_model: None,
    context_setting: None,
    unknown_model_advice: Some("choose another model: -m openai-responses:NAME"),
    first_steps: "OpenAI's Responses API, with its own search for tools:\n  \
        export OPENAI_API_KEY=…\n  \
        switchboard ask -m openai-responses:gpt-5.4 \"…\"",
    redundant_path: None,
    unreachable_hint: "",
    leaks_calls: true,
    folds_schemas: false,
    framing: Framing::Events,
    connect: |config| Ok(Arc::new(OpenAiResponsesClient::new(config)?)),
    check: openai::INFO.check,
    window: openai::INFO.window,
    request: convert::request,
    reader: |body| Box::new(wire::ResponsesReader::new(body)),
};
