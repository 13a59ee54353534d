//! Streamable HTTP: POST, GET and DELETE on one path, for any HTTP server to mount.
//!
//! The embedder checks tokens, `Origin` and `Host` before a request comes here.

mod admission;
mod body;
mod headers;
mod post;
mod response;
mod streams;

use ::http::{HeaderName, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use switchboard_toolcall::BoxError;

use super::{McpCaller, Server};
use admission::Unlimited;
pub use admission::{Admission, Permit};
pub use body::McpBody;

/// The header that carries a session's id.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

impl Server {
    /// Answers one HTTP request.
    ///
    /// # Cancel safety
    /// A client that disconnects drops the future, or the body of the response: a request of 2026-07-28 is then cancelled, one
    /// of a session continues and its response can be requested again.
    pub async fn handle<B>(&self, request: Request<B>, caller: &McpCaller) -> Response<McpBody>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        self.handle_admitted(request, caller, &Unlimited).await
    }

    /// Like [`handle`](Self::handle), for an admitted request; `admission` decides about further requests of a batch.
    pub async fn handle_admitted<B>(
        &self,
        request: Request<B>,
        caller: &McpCaller,
        admission: &dyn Admission,
    ) -> Response<McpBody>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        match *request.method() {
            Method::POST => {
                let (head, body) = request.into_parts();
                post::post(&self.inner, &head, body, caller, admission).await
            }
            Method::GET => streams::get(&self.inner, request.headers(), caller).await,
            Method::DELETE => streams::delete(&self.inner, request.headers(), caller).await,
            _ => {
                let mut response = response::empty(StatusCode::METHOD_NOT_ALLOWED);
                let allowed = ::http::HeaderValue::from_static("GET, POST, DELETE");
                response.headers_mut().insert(header::ALLOW, allowed);
                response
            }
        }
    }
}
