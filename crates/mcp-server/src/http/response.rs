//! Answers that say no.

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::value::RawValue;

use super::McpBody;
use crate::session_adoption::NoSession;
use switchboard_mcp_wire::{Outgoing, RpcError};

/// A response that says no, boxed: it is large, and rare.
pub(super) type ErrorResponse = Box<Response<McpBody>>;

/// A status and nothing else.
pub(super) fn empty(status: StatusCode) -> Response<McpBody> {
    let mut response = Response::new(McpBody::empty());
    *response.status_mut() = status;
    response
}

/// A status with a JSON-RPC error; `id` is the request's, where it could be read.
pub(super) fn error(
    status: StatusCode,
    id: Option<&RawValue>,
    error: RpcError,
) -> Response<McpBody> {
    let body = Outgoing::error(id.unwrap_or(RawValue::NULL), &error).to_bytes();
    json(status, body)
}

/// There is no session for a request.
pub(super) fn no_session(none: &NoSession, id: Option<&RawValue>) -> Response<McpBody> {
    let (status, code, text) = match none {
        NoSession::Unknown => {
            (StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, "there is no such session")
        }
        NoSession::Full => {
            let text = "there are too many sessions; try again later";
            (StatusCode::SERVICE_UNAVAILABLE, RpcError::INTERNAL, text)
        }
    };
    error(status, id, RpcError::new(code, text))
}

/// One JSON text.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<McpBody> {
    let mut response = Response::new(McpBody::whole(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The status that goes with an error of a modern request.
pub(super) fn modern_status(error: &RpcError) -> StatusCode {
    match error.code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CAPABILITY
        | RpcError::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
