//! The Model Context Protocol's messages: JSON-RPC as MCP speaks it, a thin envelope with its payload left as it came.
//!
//! `elicitation` and `sampling` take apart what servers ask of people and models. Nothing here does I/O: `mcp-client`
//! and `mcp-server` do. No other crate speaks MCP's wire.
//!
//! ```
//! use serde_json::json;
//! use switchboard_mcp_wire::{IncomingMessage, JsonText, Outgoing, RpcError, parse};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let line = br#"{"jsonrpc":"2.0","id":"a1","method":"ping"}"#;
//! let IncomingMessage::Request { id, method, .. } = parse(line)? else { panic!("not a request") };
//! let outcome = match method.as_str() {
//!     "ping" => Ok(JsonText("{}".to_owned())),
//!     _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "Method not found")),
//! };
//! let sent: serde_json::Value = serde_json::from_slice(&Outgoing::response(&id, &outcome).to_bytes())?;
//! assert_eq!(sent, json!({"jsonrpc": "2.0", "id": "a1", "result": {}}));
//! # Ok(()) }
//! ```

pub mod eras;
pub mod error_kind;
mod message;
mod rpc_error;
mod outgoing;
pub mod lines;
pub mod headers;
mod list;
mod method;
mod server_change;
pub mod server_request;
pub mod questions;
mod upstreams;
pub mod elicitation;
pub mod sampling;

pub use eras::Era;
pub use list::{List, ListResult};
pub use message::{
    IncomingMessage, NotJsonRpc, RequestParams, UnreadableMessage, parse, parse_of_client,
    without_server_info,
};
pub use method::Method;
pub use outgoing::{AsJson, JsonText, Outgoing, flatten, write_request};
pub use rpc_error::RpcError;
pub use server_change::ServerChange;
pub use server_request::{ServerRequest, ServerRequestHandler};
pub use upstreams::{Upstream, Upstreams};

/// The prefix of the protocol's own `_meta` keys.
pub const META: &str = "io.modelcontextprotocol/";
