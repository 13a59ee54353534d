//! Adds servers to the config, removes them, enables and disables them.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::StatusCode,
};
use switchboard_access::Caller;
use switchboard_runtime::redact;

use crate::{
    AddedServer, EditError, NewServer, ServerEditor,
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

type Name = Result<Path<String>, PathRejection>;

/// Tries a server, and writes it into the config if it answers. Secrets go into a file of their own, which only the
/// user can read. For the user of this machine; for tokens with the admin right if `serve.admins_add_servers` says so.
#[utoipa::path(
    post, path = "/api/servers", operation_id = "add_server", tag = "servers",
    request_body = NewServer,
    responses(
        (status = 201, description = "It is in the config, and connects", body = AddedServer),
        (status = 400, description = "The body is wrong, or the server does not answer", body = FailedResponse),
        (status = 409, description = "The name is taken, or the config is not ours to change", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        (status = 503, description = "The config cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn add(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<AddedServer>), ApiError> {
    let editor = editor(&parts, &caller)?;
    if !may_add(&parts, &caller) {
        return Err(ApiError::Forbidden(
            "a token may not add or remove servers, which start programs on this machine; \
             `admins_add_servers = true` in [serve] lets those with the admin right"
                .to_owned(),
        ));
    }
    let wrong = |error| {
        let text = format!("the body must be like {{\"name\": …, \"command\": […]}}: {error}");
        ApiError::BadRequest(text)
    };
    let server: NewServer = serde_json::from_slice(&body?).map_err(wrong)?;
    let added = editor.add(server).await?;
    tracing::info!(server = added.name, caller = caller.name.as_deref(), "asked to add a server");
    Ok((StatusCode::CREATED, Json(added)))
}

/// Removes a server from the config; for who may add one.
#[utoipa::path(
    delete, path = "/api/servers/{name}", operation_id = "remove_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "The config has no such server", body = FailedResponse),
        (status = 409, description = "The config is not ours to change", body = FailedResponse),
        (status = 503, description = "The config cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn remove(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<StatusCode, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let editor = editor(&parts, &caller)?;
    if !may_add(&parts, &caller) {
        return Err(ApiError::Forbidden("a token may not remove servers".to_owned()));
    }
    editor.remove(name.clone()).await?;
    tracing::info!(server = name, caller = caller.name.as_deref(), "asked to remove a server");
    Ok(StatusCode::NO_CONTENT)
}

/// Switches a server on in the config, also for later starts.
#[utoipa::path(
    post, path = "/api/servers/{name}/enable", operation_id = "enable_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 204, description = "It connects"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "The config has no such server", body = FailedResponse),
        (status = 409, description = "The config is not ours to change", body = FailedResponse),
        (status = 503, description = "The config cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn enable(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<StatusCode, ApiError> {
    switch(&parts, &caller, name, true).await
}

/// Switches a server off in the config, also for later starts: it ends, and is not started again until it is enabled.
#[utoipa::path(
    post, path = "/api/servers/{name}/disable", operation_id = "disable_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 204, description = "It is off"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "The config has no such server", body = FailedResponse),
        (status = 409, description = "The config is not ours to change", body = FailedResponse),
        (status = 503, description = "The config cannot be written", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn disable(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Name,
) -> Result<StatusCode, ApiError> {
    switch(&parts, &caller, name, false).await
}

async fn switch(
    parts: &Parts,
    caller: &Caller,
    name: Name,
    is_enabled: bool,
) -> Result<StatusCode, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    editor(parts, caller)?.enable(name.clone(), is_enabled).await?;
    let asked = if is_enabled { "asked to enable a server" } else { "asked to disable a server" };
    tracing::info!(server = name, caller = caller.name.as_deref(), "{asked}");
    Ok(StatusCode::NO_CONTENT)
}

/// Whether the caller may decide which programs are started here: the user of this machine, who needs no token, and
/// administrators if the config says so.
pub(crate) fn may_add(parts: &Parts, caller: &Caller) -> bool {
    let is_user = caller.name.is_none();
    let is_trusted_admin = caller.may_administer() && parts.config.admins_add_servers;
    parts.server_editor.is_some()
        && (is_user || is_trusted_admin)
        && !caller.visibility().hides_tools()
}

/// Returns the editor of the config; fails unless the caller may administer.
fn editor<'a>(parts: &'a Parts, caller: &Caller) -> Result<&'a dyn ServerEditor, ApiError> {
    if !caller.may_administer() || caller.visibility().hides_tools() {
        return Err(ApiError::Forbidden(
            "this token may not change servers; `switchboard token new --admin` makes one that may"
                .to_owned(),
        ));
    }
    parts.server_editor.as_deref().ok_or_else(|| {
        ApiError::Conflict("this gateway has no config that could be changed".to_owned())
    })
}

impl From<EditError> for ApiError {
    /// Converts the error; the stderr of servers and the content of configs may be secret.
    fn from(error: EditError) -> Self {
        let text = redact::text(&error.to_string()).into_owned();
        match error {
            EditError::Wrong(_) | EditError::NoAnswer(_) => Self::BadRequest(text),
            EditError::Unknown(_) => Self::NotFound(text),
            EditError::Conflict(_) => Self::Conflict(text),
            EditError::NotWritten(_) => Self::Unavailable(text),
        }
    }
}
