//! A server's resources and prompts. Reading a resource and getting a prompt are calls like any other:
//! `POST /api/tools/SERVER__resources%2Fread/call`.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
};
use serde::Serialize;
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_mcp_client::ServerState;
use switchboard_mcp_wire::{List, Method};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::find;
use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// A server's resources, as MCP describes them.
#[derive(Serialize, ToSchema)]
pub(crate) struct Resources {
    #[schema(value_type = Vec<Object>)]
    resources: Vec<Value>,
    /// Addresses with gaps to fill in.
    #[schema(value_type = Vec<Object>)]
    templates: Vec<Value>,
    /// The call that reads one, with `{"uri": …}`.
    call: String,
}

/// The prompts of a server, as MCP describes them.
#[derive(Serialize, ToSchema)]
pub(crate) struct Prompts {
    #[schema(value_type = Vec<Object>)]
    prompts: Vec<Value>,
    /// The call that gets one, with `{"name": …, "arguments": {…}}`.
    call: String,
}

/// The resources of a server.
#[utoipa::path(
    get, path = "/api/servers/{name}/resources", operation_id = "list_resources", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "The resources", body = Resources),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 503, description = "The server is not connected, or does not answer", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn resources(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Resources>, ApiError> {
    let lists = [List::Resources, List::ResourceTemplates];
    let (call, [resources, templates]) =
        entries(&parts, &caller, name, Method::ReadResource, lists).await?;
    Ok(Json(Resources { resources, templates, call }))
}

/// The prompts of a server.
#[utoipa::path(
    get, path = "/api/servers/{name}/prompts", operation_id = "list_prompts", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "The prompts", body = Prompts),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 503, description = "The server is not connected, or does not answer", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn prompts(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Prompts>, ApiError> {
    let (call, [prompts]) =
        entries(&parts, &caller, name, Method::GetPrompt, [List::Prompts]).await?;
    Ok(Json(Prompts { prompts, call }))
}

/// Returns the entries of a server's lists, for callers who may call `method`, and the name of that call.
async fn entries<const N: usize>(
    parts: &Parts,
    caller: &Caller,
    name: Result<Path<String>, PathRejection>,
    method: Method,
    lists: [List; N],
) -> Result<(String, [Vec<Value>; N]), ApiError> {
    let server = find(parts, caller, name)?;
    let tools = parts.executor.tools();
    let call = method.call_name(server.name(), tools.separator());
    let mut all = [(); N].map(|()| Vec::new());
    if !caller.may_see(&call, tools) {
        return Ok((call, all));
    }
    let ServerState::Ready(session) = server.state() else {
        return Err(ApiError::Unavailable(format!("Server '{}' is not connected", server.name())));
    };
    let limit = parts.executor.config().timeout.0;
    for (list, entries) in lists.into_iter().zip(&mut all) {
        let failed = |why: String| {
            ApiError::Unavailable(format!("Server '{}' sent no list: {why}", server.name()))
        };
        let listed = timeout(limit, session.list(list)).await;
        let listed = listed.map_err(|_| failed("it does not answer".to_owned()))?;
        *entries = listed.map_err(|failure| failed(failure.to_string()))?.entries;
    }
    Ok((call, all))
}
