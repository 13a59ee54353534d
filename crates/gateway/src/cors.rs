//! CORS: web pages of other origins that may call us.
//!
//! Only for the origins of `[serve] origins`; if there are none, browsers let only our own page call us.

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use switchboard_access::Access;

/// The paths that pages may call.
const PLACES: [&str; 7] =
    ["/mcp", "/api/", "/v1/", "/.well-known/", "/oauth/token", "/oauth/register", "/oauth/revoke"];
/// The headers that pages may send, besides those that begin with `mcp-`.
const SENT: [&str; 11] = [
    "accept",
    "authorization",
    "cache-control",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
    "x-switchboard-answers",
    "x-timeout",
];
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const SHOWN: HeaderValue = HeaderValue::from_static(
    "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After, Idempotency-Replayed",
);
/// How many seconds a browser may cache a preflight response.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// The origin of a page that may call us.
pub(crate) struct AllowedOrigin(HeaderValue);

impl AllowedOrigin {
    /// Returns the origin of the request's page, if it is a foreign one that may call us.
    pub(crate) fn of(access: &Access, request: &request::Parts) -> Option<Self> {
        let path = request.uri.path();
        let origin = access.foreign_page(&request.headers)?;
        let is_place = PLACES.iter().any(|place| path.starts_with(place));
        (is_place && access.check_source(request).is_ok()).then(|| Self(origin.clone()))
    }

    /// Responds to a preflight request, which has no token yet; returns `None` if the request is not one.
    pub(crate) fn preflight(&self, request: &request::Parts) -> Option<Response> {
        let asks = request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if request.method != Method::OPTIONS || !asks {
            return None;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(&request.headers));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
        Some(response)
    }

    /// Adds the headers that let the page read the response.
    pub(crate) fn show(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.0);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
        headers.append(header::VARY, HeaderValue::from_name(header::ORIGIN));
        response
    }
}

/// Returns the headers that may be sent: the usual ones, and those of MCP that the browser asks for.
fn allowed_headers(headers: &HeaderMap) -> HeaderValue {
    let requested = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let requested = requested.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let more = requested.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| {
        let is_name = name.parse::<HeaderName>().is_ok();
        is_name && name.starts_with("mcp-") && !SENT.contains(&&**name)
    });
    let names: Vec<_> = SENT.iter().map(|name| (*name).to_owned()).chain(more).collect();
    HeaderValue::from_str(&names.join(", ")).unwrap_or(HeaderValue::from_static("authorization"))
}
