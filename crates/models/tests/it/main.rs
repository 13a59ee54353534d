//! Each client against a provider that says what it is told to, over real sockets.

#![expect(clippy::unwrap_used, reason = "helpers of tests may what tests may")]

mod common;
mod context_management;
mod openai;
mod openai_responses;
mod openai_search;
mod ollama;
mod anthropic;
mod network;
mod conversation;
mod images;
mod failed_results;
mod light;
mod cassettes;
