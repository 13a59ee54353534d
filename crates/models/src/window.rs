//! How many tokens a model's window has: what it reads and writes together (SPEC FT-3, RN-3).
//!
//! The settings decide (`context`, else `num_ctx`), else what a refusal said, else what the provider says when it is asked,
//! once. A refusal that names a smaller window than `num_ctx` is believed.

use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{FailureKind, ModelConfig, ModelError, json, provider::impatient};

/// What is known of a model's window.
#[derive(Default)]
pub(crate) struct Window {
    /// What the provider said when it was asked: perhaps nothing.
    told: OnceCell<Option<u64>>,
    /// What a refusal said; 0 if none did.
    learnt: AtomicU64,
}

impl Window {
    pub(crate) async fn get(&self, config: &ModelConfig) -> Option<u64> {
        if let Some(window) = self.known(config) {
            return Some(window);
        }
        let ask = || async { (config.provider.info().window)(&impatient(config)).await };
        *self.told.get_or_init(ask).await
    }

    /// Returns the window if it is known without a request.
    pub(crate) fn known(&self, config: &ModelConfig) -> Option<u64> {
        let configured = config.context.map(NonZeroU64::get);
        let learnt = NonZeroU64::new(self.learnt.load(Ordering::Relaxed)).map(NonZeroU64::get);
        let sent = config.num_ctx.map(u64::from).filter(|num_ctx| *num_ctx > 0);
        let told = || self.told.get().copied().flatten();
        let smaller = sent.zip(learnt).map(|(sent, learnt)| sent.min(learnt));
        configured.or(smaller).or(sent).or(learnt).or_else(told)
    }

    /// Remembers the window if this refusal names it.
    pub(crate) fn learn(&self, error: &ModelError) {
        if error.kind == FailureKind::ContextFull
            && let Some(window) = window_in(&error.message)
        {
            self.learnt.store(window, Ordering::Relaxed);
        }
    }
}

/// What stands before the window in refusals of OpenAI and vLLM, llama.cpp, Gemini, and Anthropic ("211000 tokens > 200000 maximum",
/// "188240 + 21333 > 200000").
const BEFORE_WINDOW: &[&str] = &[
    "context length is ",
    "context length of ",
    "context size (",
    "context size is ",
    "context window of ",
    "maximum model length of ",
    "number of tokens allowed (",
    "tokens > ",
    " > ",
];

/// Returns the number of tokens of the window, if the text of a refusal names it. It also has the number that was too many.
fn window_in(text: &str) -> Option<u64> {
    let text = text.to_lowercase();
    BEFORE_WINDOW.iter().find_map(|before| {
        let (_, after) = text.split_once(before)?;
        let digits = after.find(|c: char| !c.is_ascii_digit()).map_or(after, |end| &after[..end]);
        digits.parse().ok().filter(|window| *window > 0)
    })
}

/// Returns the first of these fields that has a number.
pub(crate) fn first_number(object: &Value, fields: &[&str]) -> Option<u64> {
    fields.iter().find_map(|field| json::number(object, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;

    // RN-3: what a refusal teaches.
    #[test]
    fn refusals_name_the_window() {
        for (text, window) in [
            (
                "openai answered 400: This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                Some(8192),
            ),
            (
                "openai answered 400: request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it",
                Some(4096),
            ),
            (
                "anthropic answered 400: prompt is too long: 211000 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                "anthropic answered 400: input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease one",
                Some(200_000),
            ),
            (
                "openai answered 400: The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
                Some(4096),
            ),
            (
                "openai answered 400: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            ("the request exceeds the context window", None),
            ("maximum context length is 0 tokens", None),
        ] {
            assert_eq!(window_in(text), window, "{text}");
        }
    }

    #[tokio::test]
    async fn settings_come_before_refusals_and_those_before_the_provider() {
        let mut config = ModelConfig::new(Provider::Ollama, "m");
        let window = Window::default();
        assert_eq!(window.get(&config).await, Some(32_768), "what is sent to Ollama");
        config.num_ctx = Some(8192);
        assert_eq!(Window::default().get(&config).await, Some(8192));
        let refusal = "exceeds the available context size (4096 tokens)";
        window.learn(&ModelError::new(FailureKind::Rejected, refusal));
        assert_eq!(window.get(&config).await, Some(8192), "another kind of failure");
        window.learn(&ModelError::new(FailureKind::ContextFull, refusal));
        assert_eq!(window.get(&config).await, Some(4096));
        window.learn(&ModelError::new(FailureKind::ContextFull, "context length is 99999 tokens"));
        assert_eq!(window.get(&config).await, Some(8192), "no more than is sent");
        config.context = NonZeroU64::new(1000);
        assert_eq!(window.get(&config).await, Some(1000));
    }
}
