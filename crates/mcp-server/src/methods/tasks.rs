//! `tasks/get`, `tasks/update` and `tasks/cancel`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{read, unknown};
use crate::{
    ServerInner,
    exchange::Exchange,
    reply::MethodReply,
    tasks::{EXTENSION, not_known},
};
use switchboard_mcp_wire::RpcError;

#[derive(Deserialize)]
struct TaskParams {
    #[serde(rename = "taskId")]
    id: String,
}

/// Answers to questions; queued calls ask none, so the content does not matter.
#[derive(Deserialize)]
struct UpdateParams {
    #[serde(rename = "inputResponses")]
    _responses: Map<String, Value>,
}

impl ServerInner {
    pub(super) async fn answer_task(
        &self,
        exchange: &Exchange,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let tasks = self.tasks.as_ref().ok_or_else(|| unknown(method))?;
        if !exchange.knows(EXTENSION) {
            return Err(not_known());
        }
        let TaskParams { id } = read(params.clone())?;
        let call = tasks.find(&id, &exchange.caller).await?;
        match method {
            "tasks/get" => return self.detail(tasks, call, exchange).map(MethodReply::Fields),
            "tasks/update" => _ = read::<UpdateParams>(params)?,
            _ => tasks.cancel(&call).await?,
        }
        Ok(MethodReply::empty())
    }
}
