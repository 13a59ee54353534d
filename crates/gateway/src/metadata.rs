//! Where a client gets a token for us: metadata of the protected resource (RFC 9728) and, if we are one, of the authorization server
//! (RFC 8414), at the places where MCP clients look.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, StatusCode, header, request};
use serde_json::{Map, Value, json};
use switchboard_access::{
    Access, Rejection,
    oauth::{OFFLINE, SCOPE},
};

use crate::{admission, error::ApiError, gateway::Parts, json_body::Json, oauth, rest};

/// The path of the resource's metadata; the path of the resource may follow.
const PATH: &str = "/.well-known/oauth-protected-resource";
/// The paths of the authorization server's metadata: of RFC 8414, and of OpenID Connect, where some clients look too.
const SERVER: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
/// The path of MCP, which clients treat as a separate resource.
const MCP: &str = "/mcp";

/// Returns the routes that need no token.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    let resource = Router::new()
        .route(PATH, get(show))
        .route(&format!("{PATH}{MCP}"), get(show))
        .route(&format!("{PATH}{MCP}/{{profile}}"), get(show));
    SERVER.iter().fold(resource, |routes, path| routes.route(path, get(server)))
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
    // The body is not read, so the connection ends; a client must not send its next request over it.
    let length = request.headers.get(header::CONTENT_LENGTH);
    if length.is_some_and(|length| length != "0")
        || request.headers.contains_key(header::TRANSFER_ENCODING)
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn challenge(
    access: &Access,
    request: &request::Parts,
    rejection: &Rejection,
) -> Option<HeaderValue> {
    scopes(access)?;
    let base = access.base_url(request).ok()?;
    let path = request.uri.path();
    let resource = if admission::is_mcp(path) { path } else { "" };
    let scope = access.oauth().map(|_| SCOPE);
    Some(rejection.challenge(Some(&format!("{base}{PATH}{resource}")), scope))
}

/// Returns the scopes that clients should request; `None` if there is nowhere to get a token.
fn scopes(access: &Access) -> Option<Vec<String>> {
    match (access.oauth(), access.jwt()) {
        (Some(_), _) => Some(vec![SCOPE.to_owned()]),
        (None, Some(jwt)) => Some(jwt.scopes.clone()),
        (None, None) => None,
    }
}

/// Describes the resource.
async fn show(State(parts): State<Arc<Parts>>, request: Request) -> Result<Response, ApiError> {
    let (request, _) = request.into_parts();
    parts.access.check_source(&request)?;
    let Some(scopes) = scopes(&parts.access) else {
        return Ok(rest::nothing_here(request.uri).await);
    };
    let path = request.uri.path().strip_prefix(PATH).unwrap_or_default();
    let base = parts.access.base_url(&request)?;
    let own = parts.access.oauth().map(|_| base.clone());
    let other = parts.access.jwt().map(|jwt| jwt.issuer.clone());
    // Clients take the first.
    let servers: Vec<_> = own.into_iter().chain(other).collect();
    let mut shown = Map::new();
    shown.insert("resource".to_owned(), format!("{base}{path}").into());
    shown.insert("resource_name".to_owned(), "Switchboard".into());
    shown.insert("authorization_servers".to_owned(), json!(servers));
    shown.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    if !scopes.is_empty() {
        shown.insert("scopes_supported".to_owned(), json!(scopes));
    }
    Ok(Json(Value::Object(shown)).into_response())
}

/// Describes the authorization server.
async fn server(State(parts): State<Arc<Parts>>, request: Request) -> Result<Response, ApiError> {
    let (request, _) = request.into_parts();
    parts.access.check_source(&request)?;
    let Some(config) = parts.access.oauth() else {
        return Ok(rest::nothing_here(request.uri).await);
    };
    let base = parts.access.base_url(&request)?;
    let at = |path: &str| format!("{base}{path}");
    let mut shown = json!({
        "issuer": base,
        "authorization_endpoint": at(oauth::AUTHORIZE),
        "token_endpoint": at(oauth::TOKEN),
        "revocation_endpoint": at(oauth::REVOKE),
        "scopes_supported": [SCOPE, OFFLINE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    if config.registration {
        shown["registration_endpoint"] = at(oauth::REGISTER).into();
    }
    Ok(Json(shown).into_response())
}
