//! What upstream servers may ask our callers.

use serde_json::{Map, Value};
use switchboard_mcp_wire::{
    RpcError, ServerRequest, ServerRequestHandler, questions, server_request::refusal,
};
use switchboard_toolcall::{BoxFuture, QuestionKind};

/// Tells upstream servers that they may ask questions, which go to the caller. If there is no caller to ask, the question is
/// refused here, with the reason.
///
/// Which tools a server offers may depend on what is declared to it when it is connected. So the same is declared
/// for all callers, and a caller that cannot be asked gets an error instead of not finding the tool.
pub struct Bridge {
    capabilities: Value,
}

impl Bridge {
    /// Creates a bridge to MCP clients.
    pub fn to_clients() -> Self {
        Self { capabilities: questions::capabilities(|_| true) }
    }

    /// Creates a bridge to people at a terminal, who have no roots.
    pub fn to_people() -> Self {
        Self { capabilities: questions::capabilities(|kind| kind != QuestionKind::Roots) }
    }
}

impl ServerRequestHandler for Bridge {
    fn capabilities(&self) -> Value {
        self.capabilities.clone()
    }

    fn own_capabilities(&self) -> Value {
        Value::Object(Map::new())
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Err(refusal(&request))))
    }
}
