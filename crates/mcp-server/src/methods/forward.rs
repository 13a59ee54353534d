//! Requests besides `tools/call`, run by the executor like any call (SPEC GW-6).

use std::{error::Error, sync::Arc};

use serde_json::{Map, Value, json};
use switchboard_toolcall::{ErrorKind, ToolCall, ToolResult};

use crate::{ServerInner, exchange::Exchange};
use switchboard_mcp_wire::{Method, RpcError, Upstream};

impl ServerInner {
    /// Calls `method` of a server through the executor, and returns the server's result.
    pub(super) async fn forward(
        &self,
        server: &dyn Upstream,
        method: Method,
        params: Map<String, Value>,
        exchange: &Arc<Exchange>,
    ) -> Result<Map<String, Value>, RpcError> {
        let name = method.call_name(server.name(), self.executor.tools().separator());
        let cx = exchange.context();
        let result = self.executor.execute(ToolCall::new(name, params), &cx).await;
        match &result.outcome {
            Ok(answer) => method.result(&answer.output).ok_or_else(|| {
                let text = format!("the answer of '{}' is not an MCP result", result.tool_name);
                RpcError::new(RpcError::INTERNAL, text)
            }),
            Err(_) => Err(rpc_error(&result)),
        }
    }
}

/// Converts the failure of a call to a JSON-RPC error: the server's own error, or the text and kind of ours.
fn rpc_error(result: &ToolResult) -> RpcError {
    let Err(error) = &result.outcome else {
        return RpcError::new(RpcError::INTERNAL, "the call did not fail");
    };
    let theirs = error.source().and_then(|cause| cause.downcast_ref::<RpcError>());
    if let (ErrorKind::ToolError, Some(theirs)) = (error.kind, theirs) {
        // The text of a call's error is bounded, the server's own is not.
        return RpcError { message: error.for_model.clone(), ..theirs.clone() };
    }
    let code = match error.kind {
        ErrorKind::NotFound | ErrorKind::UnknownServer | ErrorKind::InvalidParameters => {
            RpcError::INVALID_PARAMS
        }
        ErrorKind::Denied | ErrorKind::Cancelled | ErrorKind::Overloaded => RpcError::REFUSED,
        _ => RpcError::INTERNAL,
    };
    RpcError::new(code, result.text()).with_data(json!({"error_kind": error.kind}))
}
