//! Where a client gets a token for us: OAuth protected-resource metadata (RFC 9728), which MCP clients look for.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, StatusCode, header, request};
use serde_json::{Map, Value, json};
use switchboard_access::{Access, Rejection};

use crate::{error::ApiError, gateway::Parts, json_body::Json, rest};

/// The path of the metadata; the path of the resource may follow.
const PATH: &str = "/.well-known/oauth-protected-resource";
/// The path of MCP, which clients treat as a separate resource.
const MCP: &str = "/mcp";

/// Returns the routes that need no token.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    Router::new().route(PATH, get(show)).route(&format!("{PATH}{MCP}"), get(show))
}

/// Returns the response to a rejected request. A client that needs a token is told where to get one.
pub(crate) fn rejected(
    access: &Access,
    request: &request::Parts,
    rejection: Rejection,
) -> Response {
    let challenge = (rejection.status() == StatusCode::UNAUTHORIZED)
        .then(|| challenge(access, request, &rejection));
    let mut response = ApiError::from(rejection).into_response();
    if let Some(challenge) = challenge.flatten() {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

fn challenge(
    access: &Access,
    request: &request::Parts,
    rejection: &Rejection,
) -> Option<HeaderValue> {
    access.jwt()?;
    let base = access.base_url(request).ok()?;
    let resource = if request.uri.path() == MCP { MCP } else { "" };
    Some(rejection.challenge(Some(&format!("{base}{PATH}{resource}"))))
}

async fn show(State(parts): State<Arc<Parts>>, request: Request) -> Result<Response, ApiError> {
    let (request, _) = request.into_parts();
    parts.access.check_source(&request)?;
    let Some(jwt) = parts.access.jwt() else {
        return Ok(rest::nothing_here(request.uri).await);
    };
    let path = request.uri.path().strip_prefix(PATH).unwrap_or_default();
    let mut shown = Map::new();
    let resource = format!("{}{path}", parts.access.base_url(&request)?);
    shown.insert("resource".to_owned(), resource.into());
    shown.insert("resource_name".to_owned(), "Switchboard".into());
    shown.insert("authorization_servers".to_owned(), json!([jwt.issuer]));
    shown.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    if !jwt.scopes.is_empty() {
        shown.insert("scopes_supported".to_owned(), json!(jwt.scopes));
    }
    Ok(Json(Value::Object(shown)).into_response())
}
