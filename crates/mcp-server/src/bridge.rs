//! What upstream servers may ask of the callers behind us.

use serde_json::{Map, Value};
use switchboard_mcp_wire::{
    RpcError, ServerRequest, ServerRequestHandler, questions, server_request::refusal,
};
use switchboard_toolcall::{BoxFuture, QuestionKind};

/// Tells upstream servers that they may ask questions, which go to the caller. One without a caller to ask is refused
/// here, and the refusal says why.
///
/// Which tools a server offers may depend on what is declared to it when it is connected. So the same is declared
/// for all callers, and a caller that cannot be asked gets an error instead of not finding the tool.
pub struct Bridge {
    capabilities: Value,
}

impl Bridge {
    /// Callers are MCP clients, among others.
    pub fn to_clients() -> Self {
        Self { capabilities: questions::capabilities(|_| true) }
    }

    /// Callers are people at a terminal: they have no roots to tell of.
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
