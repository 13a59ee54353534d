//! The built-in tools from outside: their order and schemas, `search_web` over a real socket, and what
//! the config defines.

#![expect(clippy::unwrap_used, reason = "tests may")]

mod builtins;
mod command;
mod defined;
mod http;
mod responder;
mod search_config;
mod search_failures;
mod search_web;
mod volume;
