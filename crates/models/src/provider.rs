//! The providers of models: one table behind everything that has to know which there are.
//!
//! To add one: a folder here with its `INFO`, a line in the table, and its rules in `testkit/src/rules.rs`.

pub mod anthropic;
pub mod ollama;
pub mod openai;

pub use anthropic::AnthropicClient;
pub use ollama::OllamaClient;
pub use openai::OpenAiClient;

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Model, ModelConfig, ModelError, Request, exchange::ResponseReader, frames::Framing,
    lower::Lowered,
};

/// Writes the enum and the list from one table.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident => $module:ident,)+) => {
        /// Whose wire a model speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        #[non_exhaustive]
        pub enum Provider {
            $($(#[$doc])* $name,)+
        }

        impl Provider {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// What there is to know of it.
            pub fn info(self) -> &'static ProviderInfo {
                match self {
                    $(Self::$name => &$module::INFO,)+
                }
            }
        }
    };
}

providers! {
    /// Anthropic Messages.
    Anthropic => anthropic,
    /// OpenAI chat completions, and every server that speaks them.
    OpenAi => openai,
    /// Ollama's own `/api/chat`.
    Ollama => ollama,
}

/// What there is to know of a provider.
#[non_exhaustive]
pub struct ProviderInfo {
    /// Its name in configs and in `-m`.
    pub code: &'static str,
    /// Its address, unless the config has another.
    pub default_base_url: &'static str,
    /// The environment variable with the key; `None` if it needs none.
    pub key_variable: Option<&'static str>,
    /// The setting of a model that sizes its context, if clients choose the size.
    pub context_setting: Option<&'static str>,
    /// Advice for users whose model the provider does not know.
    pub unknown_model_advice: Option<&'static str>,
    /// How users get their first model from it: a title, and commands below it.
    pub first_steps: &'static str,
    /// What people add to the base address from habit.
    pub(crate) redundant_path: Option<&'static str>,
    /// Ends the message that the provider cannot be reached.
    pub(crate) unreachable_hint: &'static str,
    /// Whether its models may leak calls as text.
    pub(crate) leaks_calls: bool,
    /// Whether schemas must be folded into what simple chat templates show.
    pub(crate) folds_schemas: bool,
    /// What separates messages if the content type does not say it.
    pub(crate) framing: Framing,
    pub(crate) connect: fn(&ModelConfig) -> Result<Arc<dyn Model>, ModelError>,
    /// Makes the body of a request.
    pub(crate) request: fn(&ModelConfig, &Request<'_>, &Lowered) -> Value,
    /// Makes a reader for the response to a request with this body.
    pub(crate) reader: fn(&Value) -> Box<dyn ResponseReader>,
}

impl Provider {
    /// Its name in configs and in `-m`.
    pub fn code(self) -> &'static str {
        self.info().code
    }
}

/// Creates the client that a `[models.x]` table describes. Opens no connection yet.
///
/// # Errors
/// The settings cannot work: an address that cannot be parsed, a key that cannot be sent.
pub fn connect(config: &ModelConfig) -> Result<Arc<dyn Model>, ModelError> {
    (config.provider.info().connect)(config)
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|provider| provider.code() == code);
        found.copied().ok_or_else(|| {
            let codes: Vec<_> = Self::ALL.iter().map(|provider| provider.code()).collect();
            format!("unknown provider `{code}`; there are {}", codes.join(", "))
        })
    }
}

impl TryFrom<String> for Provider {
    type Error = String;

    fn try_from(code: String) -> Result<Self, Self::Error> {
        code.parse()
    }
}

impl From<Provider> for &'static str {
    fn from(provider: Provider) -> Self {
        provider.code()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    // ML-9: what a config can say is read, written and connected.
    #[test]
    fn every_provider_is_parsed_named_and_connected() {
        for provider in Provider::ALL {
            let code = provider.code();
            assert_eq!(code.parse(), Ok(*provider));
            assert_eq!(provider.to_string(), code);
            let json = serde_json::to_string(provider).unwrap();
            assert_eq!(json, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<Provider>(&json).unwrap(), *provider);
            let model = connect(&ModelConfig::new(*provider, "m")).unwrap();
            assert_eq!((model.provider(), model.name()), (*provider, "m"));
            let unknown = "x".parse::<Provider>().unwrap_err();
            assert!(unknown.contains(code), "{unknown}");
            assert!(provider.info().first_steps.contains(&format!("-m {code}:")), "{code}");
        }
        let codes: HashSet<_> = Provider::ALL.iter().map(|provider| provider.code()).collect();
        assert_eq!(codes.len(), Provider::ALL.len(), "two providers have one name");
    }
}
