//! Lets requests in: everything but health passes here first.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, header, request};
use http_body_util::Limited;
use hyper::body::{Body as _, Incoming};
use serde_json::json;
use switchboard_access::{Access, AdmittedRequest, Caller, ConnectionUser, QuotaPermit, Rejection};
use switchboard_mcp_server::{Admission, DiscoveryMode, McpCaller, Permit};
use switchboard_mcp_wire::RpcError;
use switchboard_toolcall::BoxFuture;

use crate::{
    Config,
    bodies::{BodyTimeout, QuotaBody, TimedBody, end_with_credential},
    error::ApiError,
    gateway::Parts,
    metadata, profile_view,
};

/// Refuses a request whose head is ambiguous, because a proxy in front may have read it in another way: with two `Host` or
/// `Authorization` headers, or with user information in its host.
pub(crate) fn check_head<B>(request: &http::Request<B>) -> Result<(), ApiError> {
    let host = only(request, &header::HOST)?;
    only(request, &header::AUTHORIZATION)?;
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    if [host.map(HeaderValue::as_bytes), authority].into_iter().flatten().any(has_user) {
        let text =
            "the host of the request has user information before an `@`, which is not allowed";
        return Err(ApiError::BadRequest(text.to_owned()));
    }
    Ok(())
}

/// Returns the header of this name; fails if there is more than one.
fn only<'a, B>(
    request: &'a http::Request<B>,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, ApiError> {
    let mut values = request.headers().get_all(name).iter();
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => {
            let text = format!("the request has more than one `{name}` header");
            Err(ApiError::BadRequest(text))
        }
    }
}

fn has_user(host: &[u8]) -> bool {
    host.contains(&b'@')
}

/// Authenticates the caller, limits the body, and holds the caller's permit until the response has been sent.
pub(crate) async fn admit(
    State(parts): State<Arc<Parts>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let admitted = parts.access.admit(&head, peer(&head)).await;
    let AdmittedRequest { caller, share, credential } = match admitted {
        Ok(admitted) => admitted,
        Err(rejection) => return metadata::rejected(&parts.access, &head, rejection),
    };
    let caller = match in_profile(&parts, caller, profile_view::named(&head.headers)) {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    list_with(&parts, &caller).await;
    let logged = parts.config.access_log.then(|| caller.clone());
    head.extensions.insert(caller);
    let (body, timeout) = bounded(body, &parts.config);
    let response = next.run(Request::from_parts(head, body)).await;
    let mut response = in_time(response, timeout, &parts.config);
    if let Some(caller) = logged {
        response.extensions_mut().insert(caller);
    }
    held(end_with_credential(response, &parts, credential), share)
}

/// Like [`admit`], for what everybody may have: checks only the host name and the origin.
pub(crate) async fn look(
    State(parts): State<Arc<Parts>>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    match parts.access.check_source(&head) {
        Ok(()) => open(&parts, head, body, next).await,
        Err(rejection) => ApiError::from(rejection).into_response(),
    }
}

/// Like [`look`], for the console's page, which other sites may link to.
pub(crate) async fn visit(
    State(parts): State<Arc<Parts>>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    match parts.access.check_visit(&head) {
        Ok(()) => open(&parts, head, body, next).await,
        Err(rejection) => ApiError::from(rejection).into_response(),
    }
}

async fn open(parts: &Parts, head: request::Parts, body: Body, next: Next) -> Response {
    let (body, timeout) = bounded(body, &parts.config);
    let response = next.run(Request::from_parts(head, body)).await;
    in_time(response, timeout, &parts.config)
}

/// Returns the response; an error instead if the body of the request timed out.
fn in_time(response: Response, timeout: Option<BodyTimeout>, config: &Config) -> Response {
    if !timeout.is_some_and(|timeout| timeout.is_elapsed()) {
        return response;
    }
    let limit = config.body_timeout.0.as_secs_f64();
    let text = format!("the body of the request did not come within {limit}s");
    ApiError::TooSlow(text).into_response()
}

/// Like [`admit`], for the MCP server, which limits bodies itself.
pub(crate) async fn mcp(
    parts: &Arc<Parts>,
    request: http::Request<Incoming>,
    peer: ConnectionUser,
) -> Response {
    let (head, body) = request.into_parts();
    let AdmittedRequest { caller, share, credential } = match parts.access.admit(&head, peer).await
    {
        Ok(admitted) => admitted,
        Err(rejection) => return metadata::rejected(&parts.access, &head, rejection),
    };
    let caller = match in_profile(parts, caller, mcp_profile(head.uri.path())) {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    list_with(parts, &caller).await;
    let (discovery, always) = match discovery(head.uri.query()) {
        Ok(view) => view,
        Err(error) => return error.into_response(),
    };
    // Not boxed: most requests come this way.
    let (body, _) = TimedBody::new(body, parts.config.body_timeout.0);
    let body = Limited::new(body, most(&parts.config));
    let request = http::Request::from_parts(head, body);
    let admission = BatchAdmission { access: &parts.access, peer };
    let visibility = caller.visibility().clone().with_names(always);
    let mcp_caller = McpCaller { discovery, visibility, ..mcp_caller(&caller) };
    let answer = parts.mcp.handle_admitted(request, &mcp_caller, &admission).await;
    let mut response = answer.map(Body::new);
    if parts.config.access_log {
        response.extensions_mut().insert(caller);
    }
    held(end_with_credential(response, parts, credential), share)
}

/// The path of the MCP server; a profile's has its name behind it.
const MCP: &str = "/mcp";

/// Returns whether the path is that of the MCP server, or of a profile of it.
pub(crate) fn is_mcp(path: &str) -> bool {
    path == MCP || mcp_profile(path).is_some()
}

/// Returns the profile that the path of the MCP server names.
fn mcp_profile(path: &str) -> Option<&str> {
    let name = path.strip_prefix(MCP)?.strip_prefix('/')?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// Returns the caller with its profile, if it is bound to one or asks for one.
fn in_profile(parts: &Parts, caller: Caller, asked: Option<&str>) -> Result<Caller, ApiError> {
    match asked.is_none() && caller.visibility().profile().is_none() {
        true => Ok(caller),
        false => profile_view::enter(parts, caller, asked),
    }
}

/// Lets a caller who is here for the first time see the tools of servers that take its own token.
async fn list_with(parts: &Parts, caller: &Caller) {
    if let (Some(token), Some(servers)) = (&caller.token, &parts.servers) {
        // Boxed, because most callers have no such token.
        Box::pin(servers.list_with(&caller.principal, token)).await;
    }
}

/// What a client asks for with `?tools=`: how tools are listed, and which ones are there whatever the caller sees.
type AskedView = (Option<DiscoveryMode>, &'static [&'static str]);

/// Returns what `?tools=search`, `?tools=list` or `?tools=list-and-search` asks for, if there is one.
fn discovery(query: Option<&str>) -> Result<AskedView, ApiError> {
    let mut pairs = query.unwrap_or_default().split('&');
    match pairs.find_map(|pair| pair.strip_prefix("tools=")) {
        None => Ok((None, &[])),
        Some("search") => Ok((Some(DiscoveryMode::Search), &[])),
        Some("list") => Ok((Some(DiscoveryMode::List), &[])),
        // For clients that search in what they list, such as `ask` with a profile (SPEC FT-3).
        Some("list-and-search") => Ok((Some(DiscoveryMode::List), &["tool_search"])),
        Some(_) => {
            let expected = "`tools` is `search`, `list` or `list-and-search`";
            Err(ApiError::BadRequest(expected.to_owned()))
        }
    }
}

fn mcp_caller(caller: &Caller) -> McpCaller {
    McpCaller {
        name: caller.name.clone(),
        principal: caller.principal.clone(),
        token: caller.token.clone(),
        client: caller.client.clone(),
        claims: caller.claims.clone(),
        discovery: None,
        visibility: caller.visibility().clone(),
    }
}

/// Admits each further request of a batch like a separate one, with its own permit.
struct BatchAdmission<'a> {
    access: &'a Access,
    peer: ConnectionUser,
}

impl Admission for BatchAdmission<'_> {
    fn admit<'a>(&'a self, head: &'a request::Parts) -> BoxFuture<'a, Result<Permit, RpcError>> {
        Box::pin(async move {
            match self.access.admit(head, self.peer).await {
                Ok(AdmittedRequest { share, .. }) => Ok(Box::new(share) as Permit),
                Err(rejection) => {
                    let error = RpcError::new(RpcError::REFUSED, rejection.to_string());
                    Err(match rejection {
                        Rejection::TooManyRequests { retry_after, .. } => {
                            error.with_data(json!({"retry_after": retry_after}))
                        }
                        _ => error,
                    })
                }
            }
        })
    }
}

/// Returns the user of the connection that the request came over.
pub(crate) fn peer(request: &request::Parts) -> ConnectionUser {
    request.extensions.get().copied().unwrap_or_default()
}

/// Returns the response, which holds the caller's permit until it has been sent.
fn held(response: Response, share: QuotaPermit) -> Response {
    match share.is_counted() {
        true => response.map(|body| Body::new(QuotaBody::new(body, share))),
        false => response,
    }
}

/// Limits the size and the duration of a body, as the settings say.
fn bounded(body: Body, config: &Config) -> (Body, Option<BodyTimeout>) {
    if body.is_end_stream() {
        return (body, None);
    }
    let (body, timeout) = TimedBody::new(body, config.body_timeout.0);
    (Body::new(Limited::new(body, most(config))), Some(timeout))
}

/// Returns how large a body may be, in bytes.
fn most(config: &Config) -> usize {
    usize::try_from(config.max_body.0).unwrap_or(usize::MAX)
}
