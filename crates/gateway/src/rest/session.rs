//! Signing in and out, for the console.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{Request, State, rejection::BytesRejection},
    http::{StatusCode, header, request},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use switchboard_access::{Caller, Peer, Rejection};
use utoipa::ToSchema;

use crate::{
    admission, error::ApiError, feed::timestamp, gateway::Parts, rest::openapi::responses::Failed,
};

/// Who the caller is to us.
#[derive(Serialize, ToSchema)]
pub(crate) struct Session {
    /// Whether a token, or a session that stands for one, came with the request.
    signed_in: bool,
    /// Whether nothing can be had without one.
    needs_token: bool,
    /// The name of the token.
    name: Option<String>,
    /// Whether the caller may start and stop servers.
    may_administer: bool,
    /// Whether the caller may decide about held calls.
    may_approve: bool,
    /// Whether the caller knows of everybody's calls, not only of its own.
    may_watch: bool,
    /// Our own version.
    version: &'static str,
    /// When the session that was just opened is over.
    expires: Option<String>,
}

/// What opens a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    /// A token of ours, or a JWT.
    token: String,
}

impl Session {
    fn of(caller: Option<&Caller>, parts: &Parts, peer: Peer) -> Self {
        let name = caller.and_then(|caller| caller.name.as_deref());
        Self {
            signed_in: name.is_some(),
            needs_token: parts.access.demands_token(peer),
            name: name.map(str::to_owned),
            may_administer: caller.is_some_and(Caller::may_administer),
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
        (status = 200, description = "Who the caller is to us", body = Session),
        (status = 403, description = "A page or a host that is not ours", body = Failed),
        (status = 429, description = "The token's share is used up", body = Failed),
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    request: Request,
) -> Result<Json<Session>, ApiError> {
    let (head, _) = request.into_parts();
    let peer = admission::peer(&head);
    let admitted = match parts.access.admit(&head, peer).await {
        Ok(admitted) => Some(admitted),
        Err(Rejection::Unauthorized(_) | Rejection::InvalidToken(_)) => None,
        Err(rejection) => return Err(rejection.into()),
    };
    Ok(Json(Session::of(admitted.as_ref().map(|admitted| &admitted.caller), &parts, peer)))
}

/// Signs the console in: a cookie that scripts cannot read then stands for the token.
#[utoipa::path(
    post, path = "/api/session", operation_id = "sign_in", tag = "console", security(()),
    params(("X-Switchboard" = String, Header, description = "`console`", pattern = "^console$")),
    request_body = SignIn,
    responses(
        (status = 200, description = "The session; its cookie is in `Set-Cookie`", body = Session),
        (status = 400, description = "The body is not `{\"token\": …}`", body = Failed),
        (status = 401, description = "Nobody knows the token", body = Failed),
        (status = 403, description = "Another page, or `X-Switchboard` is missing", body = Failed),
        (status = 413, description = "The request is too large", body = Failed),
        (status = 429, description = "The token's share is used up", body = Failed),
    )
)]
pub(crate) async fn sign_in(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let wrong = |error| ApiError::BadRequest(format!("the body must be {{\"token\": …}}: {error}"));
    let SignIn { token } = serde_json::from_slice(&body?).map_err(wrong)?;
    let peer = admission::peer(&head);
    let opened = parts.access.sign_in(&head, token.trim(), peer).await?;
    let Some(cookie) = opened.cookie else {
        return Ok(Json(Session::of(Some(&Caller::default()), &parts, peer)).into_response());
    };
    let mut signed = head;
    signed.headers.remove(header::AUTHORIZATION);
    signed.headers.insert(header::COOKIE, cookie.clone());
    let admitted = parts.access.admit(&signed, peer).await?;
    let expires = opened.expires.map(timestamp);
    let session = Session { expires, ..Session::of(Some(&admitted.caller), &parts, peer) };
    Ok(([(header::SET_COOKIE, cookie)], Json(session)).into_response())
}

/// Signs the console out.
#[utoipa::path(
    delete, path = "/api/session", operation_id = "sign_out", tag = "console", security(()),
    params(("X-Switchboard" = String, Header, description = "`console`", pattern = "^console$")),
    responses(
        (status = 204, description = "There is no session any more"),
        (status = 403, description = "Another page, or `X-Switchboard` is missing", body = Failed),
        (status = 503, description = "The other gateways could not be told", body = Failed),
    )
)]
pub(crate) async fn sign_out(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
) -> Result<Response, ApiError> {
    let cookie = parts.access.sign_out(&head).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
