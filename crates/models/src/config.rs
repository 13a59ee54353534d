//! The settings of one model: a `[models.x]` table.

use std::{collections::BTreeMap, fmt, num::NonZeroU64, time::Duration};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::HumanDuration;

use crate::{ContextManagement, Price, Provider};

/// How a model is reached and asked.
#[derive(Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The provider whose wire format the model speaks.
    pub provider: Provider,
    /// Its name at the provider.
    pub model: String,
    /// Where the provider is: with `/v1` for openai and openai-responses, the root for anthropic and ollama.
    pub base_url: Option<String>,
    /// The key; this crate does not read the environment.
    pub api_key: Option<Secret>,
    /// The most tokens of one turn.
    pub max_tokens: Option<u32>,
    /// How daring the model is.
    pub temperature: Option<f64>,
    /// How many tokens the model's window has: what it reads and writes in all. Unset: `num_ctx` (Ollama), else what the
    /// provider says.
    pub context: Option<NonZeroU64>,
    /// Anthropic and openai-responses: whether, and how, the API keeps conversations within the window. We then shorten only what it
    /// refuses. Unset: we shorten them.
    pub context_management: Option<ContextManagement>,
    /// What a million tokens cost, for `cost` in `switchboard runs` and `[agent] cost_budget`.
    pub price: Option<Price>,
    /// Ollama: the size of the context. Always sent, because Ollama's own default may be as small as 4096.
    pub num_ctx: Option<u32>,
    /// Ollama: whether, or how hard, the model thinks. OpenAI: a level is sent as the effort of reasoning.
    pub think: Option<Think>,
    /// Ollama: how long the model stays in memory, such as `5m`.
    pub keep_alive: Option<String>,
    /// Ollama: whether a prompt that is too long is cut silently. Off: it is an error.
    #[serde(default)]
    pub truncate: bool,
    /// Patterns of the tools that the model is offered; all if unset.
    pub tools: Option<Vec<String>>,
    /// Whether the model accepts audio: audio results of tools are sent to it. Only openai supports it.
    #[serde(default)]
    pub audio: bool,
    /// Whether the model sees, so that images of users and tools are sent to it. Unset: what the provider tells (Ollama),
    /// else images are sent until the model refuses one.
    pub images: Option<bool>,
    /// Anthropic and openai-responses: whether definitions of tools that the model found by searching are sent as deferred ones,
    /// which leaves the provider's cache of the conversation valid. Unset: at the provider's own address, if the model is known
    /// to take them.
    pub deferral: Option<bool>,
    /// Whether calls that leak as text are recovered; never for anthropic.
    #[serde(default = "yes")]
    pub recover_calls: bool,
    /// Headers of every request; never logged.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// How long a connection may take to stand.
    pub connect_timeout: Option<HumanDuration>,
    /// How long the provider may be silent, the wait for the first byte included.
    pub idle_timeout: Option<HumanDuration>,
    /// How often a request is sent again after rate limits, overload and broken connections.
    pub max_retries: Option<u32>,
}

fn yes() -> bool {
    true
}

impl ModelConfig {
    /// The settings for `model` with everything else left to its default.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            base_url: None,
            api_key: None,
            max_tokens: None,
            temperature: None,
            context: None,
            context_management: None,
            price: None,
            num_ctx: None,
            think: None,
            keep_alive: None,
            truncate: false,
            tools: None,
            audio: false,
            images: None,
            deferral: None,
            recover_calls: true,
            headers: BTreeMap::new(),
            connect_timeout: None,
            idle_timeout: None,
            max_retries: None,
        }
    }

    /// Returns the address of the provider: the config's, or else the provider's own.
    pub fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(self.provider.info().default_base_url)
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        self.connect_timeout.map_or(Duration::from_secs(10), |time| time.0)
    }

    /// Long, because a local model may have to be loaded, and an answer in one piece is silent until it is whole.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout.map_or(Duration::from_secs(300), |time| time.0)
    }
}

impl fmt::Debug for ModelConfig {
    /// Without the passwords that people write into addresses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = self.base_url.as_deref().map(without_credentials);
        f.debug_struct("ModelConfig")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("base_url", &base_url)
            .field("api_key", &self.api_key)
            .field("max_tokens", &self.max_tokens)
            .field("temperature", &self.temperature)
            .field("context", &self.context)
            .field("context_management", &self.context_management)
            .field("price", &self.price)
            .field("num_ctx", &self.num_ctx)
            .field("think", &self.think)
            .field("keep_alive", &self.keep_alive)
            .field("truncate", &self.truncate)
            .field("tools", &self.tools)
            .field("audio", &self.audio)
            .field("images", &self.images)
            .field("deferral", &self.deferral)
            .field("recover_calls", &self.recover_calls)
            .field("headers", &self.headers)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_retries", &self.max_retries)
            .finish()
    }
}

/// Returns the URL without user, password and query, even if it is invalid.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let (rest, parameters) = match rest.split_once(['?', '#']) {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    // The last one: a password may have one in it.
    match rest.rsplit_once('@') {
        Some((_, place)) => format!("{scheme}…@{place}{parameters}"),
        None => format!("{scheme}{rest}{parameters}"),
    }
}

/// Whether, or how hard, a model thinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Think {
    /// On or off.
    Switch(bool),
    /// `low`, `medium`, `high` and others that the provider knows.
    Level(String),
}

/// Text that is for the provider's eyes only.
#[derive(Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from logs.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-9, ML-10
    #[test]
    fn a_table_of_the_contract_reads() {
        let text = r#"
            provider = "ollama"
            model = "qwen3:0.6b"
            base_url = "http://127.0.0.1:11434"
            api_key = "sk-secret"
            temperature = 0
            think = "low"
            idle_timeout = "30s"
            tools = ["zwave__*"]
        "#;
        let config: ModelConfig = toml::from_str(text).unwrap();
        assert_eq!(config.idle_timeout(), Duration::from_secs(30));
        assert_eq!(config.think, Some(Think::Level("low".to_owned())));
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        assert!(!config.audio && format!("{config:?}").contains("http://127.0.0.1:11434"));
        let error = toml::from_str::<ModelConfig>("provider = \"x\"\nmodel = \"m\"").unwrap_err();
        assert!(error.to_string().contains("anthropic"), "{error}");
        let wrong = "provider = \"openai\"\nmodel = \"m\"\nmodle = 1";
        assert!(toml::from_str::<ModelConfig>(wrong).unwrap_err().to_string().contains("modle"));
    }

    #[test]
    fn no_password_is_shown() {
        for (address, shown) in [
            ("http://me:hunter2@host:1/v1", "http://…@host:1/v1"),
            ("https://me:hun@ter2@host/v1?key=hunter2", "https://…@host/v1?…"),
            ("me:hunter2@host", "…@host"),
            ("https://host/v1", "https://host/v1"),
        ] {
            let mut config = ModelConfig::new(Provider::OpenAi, "m");
            config.base_url = Some(address.to_owned());
            let debug = format!("{config:?}");
            assert!(debug.contains(&format!("Some(\"{shown}\")")), "{debug}");
            assert!(!debug.contains("ter2"), "{debug}");
        }
    }
}
