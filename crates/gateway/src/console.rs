//! The console: the page at `/` and its files, all within the binary.
//!
//! The page is open to everybody who can reach the gateway; its data comes from REST, which authenticates.

mod files;

use std::sync::Arc;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::{gateway::Parts, rest};
use files::{ConsoleFile, INDEX};

/// The Content-Security-Policy: nothing from other origins, nothing inline, no framing, and text only as text.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; media-src 'self' blob:; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);
/// The paths of the page's views, which can be linked to.
const VIEWS: [&str; 10] = [
    "/live",
    "/calls",
    "/tools",
    "/servers",
    "/overview",
    "/chat",
    "/runs",
    "/approvals",
    "/connect",
    "/policy",
];
/// The response to programs that request the page.
const FOR_PROGRAMS: &str = "Switchboard: open this address in a browser for the console.\n\
    /mcp for MCP clients, /api for programs, /v1 for chat clients; /openapi.json describes them.\n";

/// The page, its views and its files.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    let mut routes = Router::new().route("/", get(page)).route("/console/{*file}", get(file));
    for view in VIEWS {
        routes = routes.route(view, get(page)).route(&format!("{view}/{{*rest}}"), get(page));
    }
    routes
}

/// Serves the page to browsers, and a hint to other programs.
async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        return file_response(&INDEX, &headers);
    }
    match uri.path() {
        "/" => FOR_PROGRAMS.into_response(),
        _ => rest::nothing_here(uri).await,
    }
}

async fn file(uri: Uri, Path(name): Path<String>, headers: HeaderMap) -> Response {
    match files::find(&name) {
        Some(file) => file_response(file, &headers),
        None => rest::nothing_here(uri).await,
    }
}

/// Returns a file, or 304 if the browser has it already.
fn file_response(file: &ConsoleFile, headers: &HeaderMap) -> Response {
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == *file.tag());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, file.media_type())], file.content).into_response(),
    };
    let fixed = HeaderValue::from_static;
    let more = [
        (header::ETAG, file.tag().clone()),
        // The next version has files of the same names.
        (header::CACHE_CONTROL, fixed("no-cache")),
        (header::VARY, fixed("accept")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        (header::HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin")),
        (header::HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin")),
    ];
    response.headers_mut().extend(more);
    response
}
