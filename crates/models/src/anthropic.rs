//! Anthropic Messages.

mod client;
mod convert;
mod wire;

pub use client::AnthropicClient;
pub use convert::convert_tools;

#[cfg(test)]
pub(crate) use convert::request;
pub(crate) use wire::Answer;
