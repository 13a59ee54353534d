//! The methods that clients can call, one file per subject.

mod basics;
mod tools;
mod forward;
mod resources;
mod prompts;
mod listen;
mod tasks;

pub(crate) use basics::ClientTransport;
use switchboard_mcp_wire::RpcError;
pub(crate) use tools::protocol_error;

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    ServerInner,
    exchange::{Exchange, ExchangeClient, RpcResult},
    reply::MethodReply,
    rpc_request::RpcRequest,
};

impl ServerInner {
    /// Answers one request of either era.
    pub(crate) async fn answer(
        self: Arc<Self>,
        exchange: Arc<Exchange>,
        rpc: RpcRequest,
    ) -> RpcResult {
        let RpcRequest { id, method, params, .. } = rpc;
        let reply = match (method.as_str(), &exchange.client) {
            ("tools/call", _) => self.call_tool(&exchange, params).await?,
            ("tools/list", _) => self.list_tools(&exchange, params)?,
            ("ping", ExchangeClient::Legacy(_)) => MethodReply::empty(),
            ("server/discover", ExchangeClient::Modern(_)) => self.discover(&exchange.caller),
            // Boxed, so that the future of a tool call, which is often moved, stays small.
            ("subscriptions/listen", ExchangeClient::Modern(_)) => {
                Box::pin(self.listen(&exchange, &id, params)).await?
            }
            ("tasks/get" | "tasks/update" | "tasks/cancel", ExchangeClient::Modern(_))
                if self.tasks.is_some() =>
            {
                Box::pin(self.answer_task(&exchange, &method, params)).await?
            }
            (method, _) if self.catalog.has_upstreams_for(&exchange.caller) => {
                Box::pin(self.answer_upstream(&exchange, method, params)).await?
            }
            (method, _) => return Err(unknown(method)),
        };
        Ok(self.render(&reply, &exchange))
    }

    /// Answers requests that need upstream servers.
    async fn answer_upstream(
        &self,
        exchange: &Arc<Exchange>,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        match (method, &exchange.client) {
            ("resources/list", _) => self.list_resources(exchange, params).await,
            ("resources/templates/list", _) => self.list_templates(exchange, params).await,
            ("resources/read", _) => self.read_resource(exchange, params).await,
            ("prompts/list", _) => self.list_prompts(exchange, params).await,
            ("prompts/get", _) => self.get_prompt(exchange, params).await,
            ("completion/complete", _) => self.complete(exchange, params).await,
            ("logging/setLevel", ExchangeClient::Legacy(session)) => {
                self.set_level(session, params)
            }
            ("resources/subscribe", ExchangeClient::Legacy(session)) => {
                self.subscribe(exchange, session, params).await
            }
            ("resources/unsubscribe", ExchangeClient::Legacy(session)) => {
                self.unsubscribe(session, params)
            }
            _ => Err(unknown(method)),
        }
    }
}

fn unknown(method: &str) -> RpcError {
    RpcError::new(RpcError::METHOD_NOT_FOUND, format!("method '{method}' is not known here"))
}

/// Reads a method's parameters.
fn read<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, RpcError> {
    serde_json::from_value(Value::Object(params)).map_err(unusable)
}

fn unusable(reason: impl fmt::Display) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, format!("the parameters are not usable: {reason}"))
}

/// The parameters of a list.
#[derive(serde::Deserialize)]
struct ListParams {
    #[serde(default)]
    cursor: Option<Value>,
}

impl ListParams {
    /// Returns the cursor; fails if it is not a string.
    fn cursor(&self) -> Result<Option<&str>, RpcError> {
        match &self.cursor {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(cursor)) => Ok(Some(cursor)),
            Some(_) => Err(RpcError::new(RpcError::INVALID_PARAMS, "`cursor` must be a string")),
        }
    }
}
