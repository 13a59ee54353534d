//! The Model Context Protocol: other people's servers become our tools, and ours are served to other people's clients.
//!
//! `wire` is the protocol's messages and nothing else; `client` connects to servers, keeps them connected and
//! offers what they have to the runtime; `server` offers what the runtime has to clients. `elicitation` and `sampling` take
//! apart what servers ask of people and models. No other crate speaks MCP's wire.

pub mod client;
pub mod elicitation;
pub mod sampling;
pub mod server;
pub mod wire;

pub use switchboard_process::guard;
