//! OpenAI chat completions, as OpenAI and everybody else speaks them: vLLM, llama.cpp, LM Studio, OpenRouter, …

mod client;
mod convert;
mod wire;
mod calls;
mod written;

pub use client::OpenAiClient;
pub use convert::convert_tools;

#[cfg(test)]
pub(crate) use convert::request;
pub(crate) use wire::Answer;
