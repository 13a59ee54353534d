//! The built-in tools from outside: their order and schemas, and `search_web` over a real socket.

#![expect(clippy::unwrap_used, reason = "tests may")]

mod builtins;
mod responder;
mod search_config;
mod search_failures;
mod search_web;
mod volume;
