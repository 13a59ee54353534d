//! JSON-RPC as MCP speaks it: a thin envelope, its payload left as it came.

pub mod eras;
pub(crate) mod error_kind;
pub mod message;
pub mod outgoing;
pub mod lines;
pub mod sse;

pub use eras::Era;
pub use message::{Incoming, NotJsonRpc, RpcError, parse};
pub use outgoing::{AsJson, Outgoing, Written};
