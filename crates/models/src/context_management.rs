//! Context management of the provider's own: what it leaves out of a conversation that grows (SPEC RN-3).

use serde::{Deserialize, Serialize};

use crate::{ModelConfig, Provider};

/// How a provider keeps conversations within the window, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextManagement {
    /// Anthropic replaces the oldest results of tools by a note (`clear_tool_uses_20250919`).
    ClearToolUses,
    /// Anthropic (`compact_20260112`) or OpenAI's Responses API (`compaction`) replaces what was said before by a summary.
    Compact,
}

impl ContextManagement {
    /// The part of the window, in percent, from which on the provider acts, if the settings say how large the window is.
    const TRIGGER: u64 = 60;

    /// Returns what is wrong with it for this provider, if anything.
    pub(crate) fn problem(self, provider: Provider) -> Option<&'static str> {
        match (provider, self) {
            (Provider::Anthropic, _) | (Provider::OpenAiResponses, Self::Compact) => None,
            (Provider::OpenAiResponses, _) => {
                Some("`context_management`: openai-responses has `compact` only")
            }
            _ => Some(
                "`context_management` is for anthropic and openai-responses: chat completions of others have none",
            ),
        }
    }

    /// Returns from how many tokens on the provider acts; `None` if it decides that itself.
    pub(crate) fn trigger(config: &ModelConfig) -> Option<u64> {
        config.context.map(|window| window.get() * Self::TRIGGER / 100)
    }
}

/// What a provider left out of a conversation before the model read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextEdits {
    /// How many results of tools, the oldest; it counts those that were left out of earlier requests too.
    pub cleared_tool_uses: usize,
    /// How many tokens those had.
    pub cleared_input_tokens: u64,
    /// Whether what came before this turn became a summary, which the turn has.
    pub compacted: bool,
}

impl ContextEdits {
    /// Whether anything was left out.
    pub(crate) fn is_any(self) -> bool {
        self.cleared_tool_uses > 0 || self.compacted
    }
}
