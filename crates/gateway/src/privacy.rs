//! Responses that only their caller may see: not cached, and without content sniffing.

use axum::response::Response;
use http::{HeaderValue, header};

/// The paths of such responses. Those of `/mcp` are responses to POST, which are not cached, and event streams.
const PATHS: [&str; 5] = ["/api/", "/v1/", "/oauth/", "/metrics", "/openapi.json"];

/// Whether a response is for its caller alone.
pub(crate) struct Privacy(bool);

impl Privacy {
    pub(crate) fn of(path: &str) -> Self {
        Self(PATHS.iter().any(|private| path.starts_with(private)))
    }

    /// Adds the headers for that.
    pub(crate) fn mark(&self, mut response: Response) -> Response {
        if self.0 {
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        response
    }
}
