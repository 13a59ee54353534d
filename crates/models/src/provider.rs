//! The providers of models: one table behind everything that has to know which there are. A script of turns stands in for
//! one, beside the table: it speaks no wire.
//!
//! To add one: a folder here with its `INFO`, a line in the table, and its rules in `testkit/src/rules.rs`.

pub mod anthropic;
pub mod ollama;
pub mod openai;
pub mod openai_responses;

pub use anthropic::AnthropicClient;
pub use ollama::OllamaClient;
pub use openai::OpenAiClient;
pub use openai_responses::OpenAiResponsesClient;

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_toolcall::{BoxFuture, HumanDuration};

use crate::{
    FailureKind, Model, ModelConfig, ModelError, Price, Request, exchange::ResponseReader,
    frames::Framing, lower::LoweredTools,
};

/// How long a check may take: a model may load for minutes, a list may not.
const CHECK: Duration = Duration::from_secs(5);

/// Writes the enum and the list from one table.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident => $module:ident,)+) => {
        /// The provider whose wire format a model speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        #[non_exhaustive]
        pub enum Provider {
            $($(#[$doc])* $name,)+
            /// No provider: turns from a file, or the built-in ones.
            #[cfg(any(test, feature = "script"))]
            Script,
        }

        impl schemars::JsonSchema for Provider {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "Provider".into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let all = Self::ALL.iter().chain(SCRIPT);
                let names: Vec<_> = all.map(|provider| provider.code()).collect();
                schemars::json_schema!({"type": "string", "enum": names})
            }
        }

        impl Provider {
            /// Those that speak a wire.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns its description.
            pub fn info(self) -> &'static ProviderInfo {
                match self {
                    $(Self::$name => &$module::INFO,)+
                    #[cfg(any(test, feature = "script"))]
                    Self::Script => &crate::script::INFO,
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
    /// OpenAI's Responses API, and servers that speak it.
    OpenAiResponses => openai_responses,
    /// Ollama's own `/api/chat`.
    Ollama => ollama,
}

/// The description of a provider.
#[non_exhaustive]
pub struct ProviderInfo {
    /// Its name in configs and in `-m`.
    pub code: &'static str,
    /// Its name in telemetry, as OpenTelemetry's conventions have it (`gen_ai.provider.name`).
    pub telemetry_name: &'static str,
    /// Its address, unless the config has another.
    pub default_base_url: &'static str,
    /// The environment variable with the key; `None` if it needs none.
    pub key_variable: Option<&'static str>,
    /// The environment variable with the address that the key is for, if that is another.
    pub base_url_variable: Option<&'static str>,
    /// The model that is asked if nobody chose one.
    pub default_model: Option<&'static str>,
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
    /// Finds out whether the model can be asked.
    pub(crate) check: for<'a> fn(&'a ModelConfig) -> BoxFuture<'a, Result<(), ModelError>>,
    /// Finds out how many tokens the model's window has; `None` if the provider does not say.
    pub(crate) window: for<'a> fn(&'a ModelConfig) -> BoxFuture<'a, Option<u64>>,
    /// Makes the body of a request.
    pub(crate) request: fn(&ModelConfig, &Request<'_>, &LoweredTools) -> Value,
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
    if let Some(problem) = config.price.and_then(Price::problem) {
        return Err(ModelError::new(FailureKind::Config, problem));
    }
    (config.provider.info().connect)(config)
}

/// Asks the provider whether it has the model, which costs no tokens. One that does not say is believed to have it.
///
/// # Errors
/// The provider cannot be reached, does not accept the key, or does not have the model.
pub async fn check(config: &ModelConfig) -> Result<(), ModelError> {
    let config = impatient(config);
    (config.provider.info().check)(&config).await
}

/// Returns the settings for a short question about the model itself.
pub(crate) fn impatient(config: &ModelConfig) -> ModelConfig {
    let limit = |time: Duration| Some(HumanDuration(time.min(CHECK)));
    ModelConfig {
        connect_timeout: limit(config.connect_timeout()),
        idle_timeout: limit(config.idle_timeout()),
        ..config.clone()
    }
}

/// Whether a model may be used although its check failed: not if nothing listens there, the key is refused with 401, or the
/// settings are wrong. Other failures prove nothing, since keys may be forbidden to list models.
fn is_believed(error: &ModelError) -> bool {
    match error.kind {
        FailureKind::Connect | FailureKind::Config => false,
        FailureKind::Auth => error.status != Some(401),
        _ => true,
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What stands in for a provider, if it is built in.
const SCRIPT: &[Provider] = &[
    #[cfg(any(test, feature = "script"))]
    Provider::Script,
];

impl FromStr for Provider {
    type Err = String;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let all = || Self::ALL.iter().chain(SCRIPT).copied();
        all().find(|provider| provider.code() == code).ok_or_else(|| {
            let codes: Vec<_> = all().map(Self::code).collect();
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
        // Telemetry knows OpenAI by one name, whichever of its APIs is asked.
        assert_eq!(Provider::OpenAiResponses.info().telemetry_name, "openai");
    }
}
