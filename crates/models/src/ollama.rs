//! Ollama's own `/api/chat`, with the care that local models and their templates need.

mod client;
mod convert;
mod wire;
mod installed;
mod show;

pub use client::OllamaClient;
pub use convert::convert_tools;
pub use installed::{Installed, installed};
pub use show::can;

#[cfg(test)]
pub(crate) use convert::request;
pub(crate) use wire::Answer;
