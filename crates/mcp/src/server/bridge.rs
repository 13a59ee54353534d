//! What upstream servers may ask of the clients behind us.

use serde_json::{Value, json};
use switchboard_toolcall::BoxFuture;

use crate::{client::Answers, wire::RpcError};

/// Tells upstream servers that they may ask: the one who made the call is then asked. What cannot be attributed to one
/// call is refused here.
pub struct Bridge;

impl Answers for Bridge {
    fn capabilities(&self) -> Value {
        json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
    }

    fn answer(&self, method: String, _: Value) -> BoxFuture<'_, Result<Value, RpcError>> {
        let text = format!(
            "'{method}' cannot be answered: it is not known which of the calls under way it is for"
        );
        Box::pin(std::future::ready(Err(RpcError::new(RpcError::REFUSED, text))))
    }
}
