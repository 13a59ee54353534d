//! Clients for the models that call tools: Anthropic Messages, Ollama `/api/chat`, OpenAI-compatible chat completions and
//! OpenAI's Responses API.
//!
//! [`AnthropicClient`], [`OllamaClient`], [`OpenAiClient`] and [`OpenAiResponsesClient`] stand behind one trait, [`Model`]. Messages and tools stay
//! canonical; each client converts at the last moment (`convert.rs`), reads what comes back with much patience (`wire.rs`),
//! and answers with one [`Turn`]. Running the calls, and asking again with their results, is the agent's.
//!
//! ```no_run
//! use switchboard_models::{ModelEvent, Message, ModelConfig, Provider, Request, connect};
//!
//! # async fn example(weather: &switchboard_toolcall::ToolSpec) -> Result<(), Box<dyn std::error::Error>> {
//! let model = connect(&ModelConfig::new(Provider::Ollama, "qwen3:0.6b"))?;
//! let messages = [Message::User("How warm is it in Bonn?".into())];
//! let request = Request::new(&messages).with_tools([weather]);
//! let turn = model.ask(&request, &|event| if let ModelEvent::Text(text) = event { print!("{text}") }).await?;
//! for call in &turn.message.tool_calls {
//!     println!("{} {:?}", call.name, call.args);
//! }
//! # Ok(()) }
//! ```

mod message;
mod reply;
mod arguments;
pub mod model;
mod config;
mod found_tools;
mod price;
mod error;
pub mod lower;
mod exchange;
mod tool_cache;
mod images;
mod window;
mod context_management;
mod retry;
mod client;
mod http;
mod frames;
mod json;
mod sink;
mod turn;
mod recover;
mod provider;
pub mod replay;
#[cfg(any(test, feature = "script"))]
pub mod script;

pub use arguments::{Arguments, UnparsableArguments};
pub use client::client;
pub use config::{ModelConfig, Secret, Think};
pub use context_management::{ContextEdits, ContextManagement};
pub use error::{FailureKind, ModelError};
pub use found_tools::FoundTools;
pub use lower::Lowering;
pub use message::{AiMessage, Message, ModelCall, NativeContent, UserMessage};
pub use model::{Model, ModelEvent, Request, StopReason, ToolChoice, Turn, Usage};
pub use price::Price;
pub use provider::*;
pub use reply::{Audio, Image, ToolReply};
#[cfg(any(test, feature = "script"))]
pub use script::{Script, ScriptError};

#[cfg(test)]
mod proptests;
