//! Tools that a model found by searching, for providers that show a definition only where it was found.

use std::collections::{HashMap, HashSet};

use crate::{ModelConfig, Provider};

/// What the searches of a conversation found. A provider that can defer definitions shows the model those of these tools
/// behind the search that found them, and not before the conversation; so the conversation before the search stays as it
/// was sent, and is read from the provider's cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundTools {
    by_call: HashMap<String, SearchReply>,
    names: HashSet<String>,
}

/// What one search found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SearchReply {
    tools: Vec<String>,
    keeps_text: bool,
}

impl FoundTools {
    /// The name of the tool that searches.
    pub const SEARCH: &'static str = "tool_search";

    /// Adds what the search of this call found: the names of tools that are offered because of it. `keeps_text` says whether
    /// the reply to the search says more than their names.
    pub fn add(&mut self, tool_call_id: String, tools: Vec<String>, keeps_text: bool) {
        self.names.extend(tools.iter().cloned());
        self.by_call.insert(tool_call_id, SearchReply { tools, keeps_text });
    }

    /// Returns whether a search found the tool.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns what the search of this call found, and whether the text of its reply is sent besides. `None` if it found
    /// nothing, or if the call is no search.
    pub(crate) fn of_call(&self, tool_call_id: &str) -> Option<(&[String], bool)> {
        let reply = self.by_call.get(tool_call_id).filter(|reply| !reply.tools.is_empty())?;
        Some((&reply.tools, reply.keeps_text))
    }
}

/// Parts of the names of Anthropic's models that cannot defer definitions.
const CANNOT_DEFER: [&str; 4] = ["claude-instant", "claude-2", "claude-3", "haiku"];

/// Returns whether the definitions of found tools are deferred: by the settings, else if the model is known to take them.
pub(crate) fn are_deferred(config: &ModelConfig) -> bool {
    let is_known = || match config.provider {
        Provider::Anthropic => !CANNOT_DEFER.iter().any(|part| config.model.contains(part)),
        Provider::OpenAiResponses => has_tool_search(&config.model),
        _ => false,
    };
    config.deferral.unwrap_or_else(|| config.base_url.is_none() && is_known())
}

/// Returns whether the model of OpenAI has tool search: gpt-5.4 and later have, but for the nano models.
fn has_tool_search(model: &str) -> bool {
    let Some(rest) = model.strip_prefix("gpt-").filter(|rest| !rest.contains("nano")) else {
        return false;
    };
    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, minor) = rest[..end].split_once('.').unwrap_or((&rest[..end], "0"));
    let version = major.parse::<u32>().ok().zip(minor.parse::<u32>().ok());
    version.is_some_and(|version| version >= (5, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_that_are_known_to_defer_do_so_unasked() {
        let deferred = |provider, model: &str, change: fn(&mut ModelConfig)| {
            let mut config = ModelConfig::new(provider, model);
            change(&mut config);
            are_deferred(&config)
        };
        for (model, expected) in [
            ("claude-sonnet-4-5-20250929", true),
            ("claude-opus-5", true),
            ("claude-haiku-4-5", false),
            ("claude-3-7-sonnet-latest", false),
            ("claude-2.1", false),
        ] {
            assert_eq!(deferred(Provider::Anthropic, model, |_| {}), expected, "{model}");
        }
        for (model, expected) in [
            ("gpt-5.4", true),
            ("gpt-5.4-mini-2026-03-17", true),
            ("gpt-5.10", true),
            ("gpt-6-astra", true),
            ("gpt-5.4-nano", false),
            ("gpt-5.3-codex", false),
            ("gpt-5-mini", false),
            ("gpt-4o", false),
            ("gpt-oss:20b", false),
            ("o4-mini", false),
        ] {
            assert_eq!(deferred(Provider::OpenAiResponses, model, |_| {}), expected, "{model}");
        }
        let elsewhere = |config: &mut ModelConfig| config.base_url = Some("http://x".to_owned());
        assert!(!deferred(Provider::Anthropic, "claude-opus-5", elsewhere));
        assert!(!deferred(Provider::OpenAiResponses, "gpt-5.4", elsewhere));
        assert!(!deferred(Provider::OpenAi, "gpt-5.4", |_| {}));
        assert!(deferred(Provider::Anthropic, "claude-3", |config| config.deferral = Some(true)));
        let never = |config: &mut ModelConfig| config.deferral = Some(false);
        assert!(!deferred(Provider::Anthropic, "claude-opus-5", never));
    }
}
