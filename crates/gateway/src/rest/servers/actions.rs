//! Actions on a server: reconnect, stop and start.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
};

use switchboard_access::Caller;
use switchboard_mcp_client::{self as client, Server};

use super::{ShownServer, check_admin, find_for_admin, group, sign_in::find_api};
use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// The path parameter with the name of a server.
type Name = Result<Path<String>, PathRejection>;

/// Reconnects a server, whatever its state; calls that run there end as `unavailable`. An API uses the sign-ins that are stored now.
#[utoipa::path(
    post, path = "/api/servers/{name}/reconnect", operation_id = "reconnect_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "It connects", body = ShownServer),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "The server is skipped", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn reconnect(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<Json<ShownServer>, ApiError> {
    if let Ok(Path(name)) = &name
        && let Some(api) = find_api(&parts, &caller, name)
    {
        check_admin(&caller)?;
        api.reload_sign_ins().await;
        let shown = group::one(name, &parts, &caller).await;
        let gone = || ApiError::NotFound(format!("Server '{name}' not found"));
        return Ok(Json(shown.ok_or_else(gone)?));
    }
    let server = find_to_act(&parts, &caller, name)?;
    server.reconnect();
    tracing::info!(
        server = &**server.name(),
        caller = caller.name.as_deref(),
        "asked to reconnect"
    );
    Ok(Json(ShownServer::of(&server, &parts, &caller).await))
}

/// Stops a server until it is started; its tools are gone until then.
#[utoipa::path(
    post, path = "/api/servers/{name}/stop", operation_id = "stop_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "It is stopped", body = ShownServer),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "The server is skipped", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn stop(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<Json<ShownServer>, ApiError> {
    let server = find_to_act(&parts, &caller, name)?;
    server.halt();
    tracing::info!(server = &**server.name(), caller = caller.name.as_deref(), "asked to stop");
    Ok(Json(ShownServer::of(&server, &parts, &caller).await))
}

/// Starts a server that was stopped.
#[utoipa::path(
    post, path = "/api/servers/{name}/start", operation_id = "start_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "It connects, or runs as it did", body = ShownServer),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        (status = 409, description = "The server is skipped", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn start(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<Json<ShownServer>, ApiError> {
    let server = find_to_act(&parts, &caller, name)?;
    server.resume();
    tracing::info!(server = &**server.name(), caller = caller.name.as_deref(), "asked to start");
    Ok(Json(ShownServer::of(&server, &parts, &caller).await))
}

/// Returns the server with this name; fails if it is skipped, since reconnecting does not add what its settings lack.
fn find_to_act(parts: &Parts, caller: &Caller, name: Name) -> Result<Arc<Server>, ApiError> {
    let server = find_for_admin(parts, caller, name)?;
    match server.state() {
        client::ServerState::Skipped(reason) => {
            Err(ApiError::Conflict(format!("Server '{}' is skipped: {reason}", server.name())))
        }
        _ => Ok(server),
    }
}
