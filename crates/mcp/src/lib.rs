//! The Model Context Protocol: other people's servers become our tools.
//!
//! `wire` is the protocol's messages and nothing else; `client` connects to servers, keeps them connected and
//! offers what they have to the runtime. No other crate speaks MCP's wire.

pub mod client;
pub mod guard;
pub mod wire;
