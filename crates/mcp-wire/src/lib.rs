//! The Model Context Protocol's messages: JSON-RPC as MCP speaks it, a thin envelope with its payload left as it came.
//!
//! `elicitation` and `sampling` take apart what servers ask of people and models. Nothing here does I/O: `mcp-client`
//! and `mcp-server` do. No other crate speaks MCP's wire.

pub mod eras;
pub mod error_kind;
pub mod message;
pub mod outgoing;
pub mod lines;
pub mod sse;
pub mod headers;
pub mod elicitation;
pub mod sampling;

pub use eras::Era;
pub use message::{IncomingMessage, NotJsonRpc, RpcError, parse};
pub use outgoing::{AsJson, JsonText, Outgoing};

/// The prefix of the protocol's own `_meta` keys.
pub const META: &str = "io.modelcontextprotocol/";
