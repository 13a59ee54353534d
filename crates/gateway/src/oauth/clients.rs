//! The endpoints for clients: tokens, registration, revocation.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    response::{IntoResponse, Response},
};
use http::{StatusCode, Uri, header, request};
use serde_json::json;
use switchboard_access::oauth::{OAuthError, Parameters};

use crate::{gateway::Parts, json_body::Json, rest};

/// How large a request may be.
const MOST: usize = 64 << 10;

/// Exchanges a code or a refresh token.
pub(super) async fn token(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if parts.access.oauth().is_none() {
        return nothing_here(&head.uri).await;
    }
    let exchanged = async {
        let sent = form(&head, body)?;
        let issuer = issuer(&parts, &head)?;
        parts.access.exchange(&issuer, &sent).await
    };
    match exchanged.await {
        Ok(tokens) => Json(tokens).into_response(),
        Err(error) => failed(&error),
    }
}

/// Registers a client.
pub(super) async fn register(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if parts.access.oauth().is_none() {
        return nothing_here(&head.uri).await;
    }
    let registered = async {
        let body = limited(body)?;
        parts.access.register_client(&body).await
    };
    match registered.await {
        Ok(client) => (StatusCode::CREATED, Json(client)).into_response(),
        Err(error) => failed(&error),
    }
}

/// Revokes a token.
pub(super) async fn revoke(
    State(parts): State<Arc<Parts>>,
    head: request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if parts.access.oauth().is_none() {
        return nothing_here(&head.uri).await;
    }
    let revoked = async {
        let sent = form(&head, body)?;
        parts.access.revoke_secret(&sent).await
    };
    match revoked.await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => failed(&error),
    }
}

/// Returns the address of the authorization server as the client of this request sees it.
pub(super) fn issuer(parts: &Parts, head: &request::Parts) -> Result<String, OAuthError> {
    let base = parts.access.base_url(head);
    base.map_err(|rejection| OAuthError::new("invalid_request", rejection.to_string()))
}

/// Returns the fields of a form.
pub(super) fn form(
    head: &request::Parts,
    body: Result<Bytes, BytesRejection>,
) -> Result<Parameters, OAuthError> {
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let text = "the body must be `application/x-www-form-urlencoded`";
        return Err(OAuthError::new("invalid_request", text));
    }
    Ok(Parameters::parse(&limited(body)?))
}

fn limited(body: Result<Bytes, BytesRejection>) -> Result<Bytes, OAuthError> {
    match body {
        Ok(body) if body.len() <= MOST => Ok(body),
        Ok(_) => Err(OAuthError::new("invalid_request", "the body is too large")),
        Err(error) => Err(OAuthError::new("invalid_request", error.body_text())),
    }
}

pub(super) async fn nothing_here(uri: &Uri) -> Response {
    rest::nothing_here(uri.clone()).await
}

fn failed(error: &OAuthError) -> Response {
    let body = json!({"error": error.code, "error_description": error.description});
    (error.status(), Json(body)).into_response()
}
