//! Anthropic Messages.

mod client;
mod check;
mod context_management;
mod window;
mod convert;
mod wire;

use std::sync::Arc;

pub use client::AnthropicClient;
pub use convert::convert_tools;

use super::ProviderInfo;
use crate::frames::Framing;

pub(super) static INFO: ProviderInfo = ProviderInfo {
    code: "anthropic",
    telemetry_name: "anthropic",
    default_base_url: "https://api.anthropic.com",
    key_variable: Some("ANTHROPIC_API_KEY"),
    base_url_variable: Some("ANTHROPIC_BASE_URL"),
    default_model: Some("claude-sonnet-4-5"),
    context_setting: None,
    unknown_model_advice: Some("choose another model: -m anthropic:NAME"),
    first_steps: "Anthropic:\n  \
        export ANTHROPIC_API_KEY=…\n  \
        switchboard ask -m anthropic:claude-sonnet-4-5 \"…\"",
    redundant_path: Some("/v1"),
    unreachable_hint: "",
    leaks_calls: false,
    folds_schemas: false,
    framing: Framing::Events,
    connect: |config| Ok(Arc::new(AnthropicClient::new(config)?)),
    check: |config| Box::pin(check::check(config)),
    window: |config| Box::pin(window::ask(config)),
    request: convert::request,
    reader: |_| Box::<wire::AnthropicReader>::default(),
};
