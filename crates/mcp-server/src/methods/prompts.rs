//! Prompts of upstream servers, and completion for prompts and resource templates.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::unknown;
use crate::{ServerInner, exchange::Exchange, reply::MethodReply};
use switchboard_mcp_wire::{List, Method, RpcError};

impl ServerInner {
    pub(super) async fn list_prompts(
        &self,
        exchange: &Exchange,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let merged = self.catalog.list(List::Prompts, &exchange.caller).await;
        self.show(List::Prompts, &merged, exchange, params)
    }

    pub(super) async fn get_prompt(
        &self,
        exchange: &Arc<Exchange>,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let mut params = own_params(params);
        let name = text(&params, "name")?;
        let found = self.catalog.prompt(&name, &exchange.caller).await;
        let (server, own) = found.ok_or_else(|| no_prompt(&name))?;
        params.insert("name".to_owned(), own.into());
        let result = self.forward(&*server, Method::GetPrompt, params, exchange).await?;
        Ok(MethodReply::passed_on(result, false, exchange))
    }

    pub(super) async fn complete(
        &self,
        exchange: &Arc<Exchange>,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let mut params = own_params(params);
        let reference = params.get("ref").cloned().unwrap_or_default();
        let server = match (reference["type"].as_str(), &reference["name"], &reference["uri"]) {
            (Some("ref/prompt"), Value::String(name), _) => {
                let found = self.catalog.prompt(name, &exchange.caller).await;
                let (server, own) = found.ok_or_else(|| no_prompt(name))?;
                params["ref"]["name"] = own.into();
                server
            }
            (Some("ref/resource"), _, Value::String(uri)) => {
                let found = self.catalog.owner(uri, &exchange.caller).await;
                found.ok_or_else(|| invalid(format!("no server has the resource '{uri}'")))?
            }
            _ => return Err(invalid("`ref` names neither a prompt nor a resource".to_owned())),
        };
        if !self.catalog.shows(&*server, Method::Complete, &exchange.caller) {
            return Err(unknown("completion/complete"));
        }
        let result = self.forward(&*server, Method::Complete, params, exchange).await?;
        Ok(MethodReply::passed_on(result, false, exchange))
    }
}

/// Returns the parameters without those that belong to the hop that they came over.
fn own_params(mut params: Map<String, Value>) -> Map<String, Value> {
    for key in ["requestState", "inputResponses"] {
        params.shift_remove(key);
    }
    params
}

fn text(params: &Map<String, Value>, key: &str) -> Result<String, RpcError> {
    match params.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(invalid(format!("`{key}` must be a string"))),
    }
}

fn no_prompt(name: &str) -> RpcError {
    invalid(format!("Prompt '{name}' not found"))
}

fn invalid(text: String) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, text)
}
