//! Clients for the models that call tools: Anthropic Messages, Ollama `/api/chat` and OpenAI-compatible chat completions.
//!
//! [`AnthropicClient`], [`OllamaClient`] and [`OpenAiClient`] stand behind one trait, [`Model`]. Messages and tools stay
//! canonical; each client converts at the last moment (`convert.rs`), reads what comes back with much patience (`wire.rs`),
//! and answers with one [`Turn`]. Running the calls, and asking again with their results, is the agent's.

pub mod message;
pub mod reply;
pub mod arguments;
pub mod model;
pub mod config;
pub mod error;
pub mod lower;
mod exchange;
mod images;
mod retry;
mod client;
mod http;
mod frames;
mod json;
mod sink;
mod turn;
mod recover;
pub mod openai;
pub mod ollama;
pub mod anthropic;
pub mod replay;
#[cfg(any(test, feature = "script"))]
pub mod script;

pub use anthropic::AnthropicClient;
pub use arguments::{Arguments, Unparsable};
pub use client::client;
pub use config::{ModelConfig, Provider, Secret, Think};
pub use error::{FailureKind, ModelError};
pub use lower::Lowering;
pub use message::{AiMessage, Message, ModelCall, Native, UserMessage};
pub use model::{Event, Model, Request, StopReason, ToolChoice, Turn, Usage};
pub use ollama::OllamaClient;
pub use openai::OpenAiClient;
pub use reply::{Audio, Image, ToolReply};
#[cfg(any(test, feature = "script"))]
pub use script::{Script, ScriptError};

use std::sync::Arc;

/// The client that a `[models.x]` table describes. Opens no connection yet.
///
/// # Errors
/// The settings cannot work: an address that is none, a key that cannot be sent.
pub fn connect(config: &ModelConfig) -> Result<Arc<dyn Model>, ModelError> {
    Ok(match config.provider {
        Provider::Anthropic => Arc::new(AnthropicClient::new(config)?),
        Provider::OpenAi => Arc::new(OpenAiClient::new(config)?),
        Provider::Ollama => Arc::new(OllamaClient::new(config)?),
    })
}

#[cfg(test)]
mod hostile;
