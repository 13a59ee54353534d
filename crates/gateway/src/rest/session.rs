//! Signing in and out, for the console.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Request, State, rejection::BytesRejection},
    http::{StatusCode, header, request},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use switchboard_access::{Caller, ConnectionUser, Rejection};
use utoipa::ToSchema;

use crate::{
    admission,
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::{openapi::responses::FailedResponse, servers::may_add},
};

/// The caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionInfo {
    /// Whether the request has a token, or a session for one.
    signed_in: bool,
    /// Whether nothing can be had without one.
    needs_token: bool,
    /// The name of the token.
    name: Option<String>,
    /// Whether the caller may start and stop servers.
    may_administer: bool,
    /// Whether the caller may add servers to the config, and remove them.
    may_add_servers: bool,
    /// Whether the caller may decide about held calls.
    may_approve: bool,
    /// Whether the caller may know of everybody's calls, not only of its own.
    may_watch: bool,
    /// Our own version.
    version: &'static str,
    /// When the session that was just opened is over.
    expires: Option<String>,
}

/// What opens a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignInRequest {
    /// A token of ours, or a JWT.
    token: String,
}

impl SessionInfo {
    fn of(caller: Option<&Caller>, parts: &Parts, peer: ConnectionUser) -> Self {
        let name = caller.and_then(|caller| caller.name.as_deref());
        Self {
            signed_in: name.is_some(),
            needs_token: parts.access.demands_token(peer),
            name: name.map(str::to_owned),
            may_administer: caller.is_some_and(Caller::may_administer),
            may_add_servers: caller.is_some_and(|caller| may_add(parts, caller)),
            may_approve: caller.is_some_and(|caller| caller.may_approve),
            may_watch: caller.is_some_and(|caller| caller.visibility().watches()),
            version: env!("CARGO_PKG_VERSION"),
            expires: None,
        }
    }
}

/// Who the caller is, and whether a token is needed.
#[utoipa::path(
    get, path = "/api/session", operation_id = "show_session", tag = "console", security(()),
    responses(
        (status = 200, description = "Who the caller is to us", body = SessionInfo),
        (status = 403, description = "A page or a host that is not ours", body = FailedResponse),
        (status = 429, description = "The token's share is used up", body = FailedResponse),
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    request: Request,
) -> Result<Json<SessionInfo>, ApiError> {
    let (head, _) = request.into_parts();
    let peer = admission::peer(&head);
    let admitted = match parts.access.admit(&head, peer).await {
        Ok(admitted) => Some(admitted),
        Err(Rejection::Unauthorized(_) | Rejection::InvalidToken(_)) => None,
        Err(rejection) => return Err(rejection.into()),
    };
    Ok(Json(SessionInfo::of(admitted.as_ref().map(|admitted| &admitted.caller), &parts, peer)))
}

/// Signs the console in: a cookie that scripts cannot read replaces the token.
#[utoipa::path(
    post, path = "/api/session", operation_id = "sign_in", tag = "console", security(()),
    params(("X-Switchboard" = String, Header, description = "`console`", pattern = "^console$")),
    request_body = SignInRequest,
    responses(
        (status = 200, description = "The session; its cookie is in `Set-Cookie`", body = SessionInfo),
        (status = 400, description = "The body is not `{\"token\": …}`", body = FailedResponse),
        (status = 401, description = "The token is unknown", body = FailedResponse),
        (status = 403, description = "Another page, or `X-Switchboard` is missing", body = FailedResponse),
        (status = 413, description = "The request is too large", body = FailedResponse),
        (status = 429, description = "The token's share is used up", body = FailedResponse),
    )
)]
pub(crate) async fn sign_in(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let wrong = |error| ApiError::BadRequest(format!("the body must be {{\"token\": …}}: {error}"));
    let SignInRequest { token } = serde_json::from_slice(&body?).map_err(wrong)?;
    let peer = admission::peer(&head);
    let opened = parts.access.sign_in(&head, token.trim(), peer).await?;
    let Some(cookie) = opened.cookie else {
        return Ok(Json(SessionInfo::of(Some(&Caller::default()), &parts, peer)).into_response());
    };
    let mut signed = head;
    signed.headers.remove(header::AUTHORIZATION);
    signed.headers.insert(header::COOKIE, cookie.clone());
    let admitted = parts.access.admit(&signed, peer).await?;
    let expires = opened.expires.map(timestamp);
    let session = SessionInfo { expires, ..SessionInfo::of(Some(&admitted.caller), &parts, peer) };
    Ok(([(header::SET_COOKIE, cookie)], Json(session)).into_response())
}

/// Signs the console out.
#[utoipa::path(
    delete, path = "/api/session", operation_id = "sign_out", tag = "console", security(()),
    params(("X-Switchboard" = String, Header, description = "`console`", pattern = "^console$")),
    responses(
        (status = 204, description = "There is no session any more"),
        (status = 403, description = "Another page, or `X-Switchboard` is missing", body = FailedResponse),
        (status = 503, description = "The other gateways could not be told", body = FailedResponse),
    )
)]
pub(crate) async fn sign_out(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
) -> Result<Response, ApiError> {
    let cookie = parts.access.sign_out(&head).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
