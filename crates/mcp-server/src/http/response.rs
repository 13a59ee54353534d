//! Responses without a stream: errors, plain statuses and single JSON texts.

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::value::RawValue;

use super::McpBody;
use crate::sessions::NoSession;
use switchboard_mcp_wire::{Outgoing, RpcError};

/// An error response, boxed because it is large and rare.
pub(super) type ErrorResponse = Box<Response<McpBody>>;

/// Makes a response with a status and no body.
pub(super) fn empty(status: StatusCode) -> Response<McpBody> {
    let mut response = Response::new(McpBody::empty());
    *response.status_mut() = status;
    response
}

/// Makes a response with a JSON-RPC error; `id` is the request's, if it could be read.
pub(super) fn error(
    status: StatusCode,
    id: Option<&RawValue>,
    error: RpcError,
) -> Response<McpBody> {
    let body = Outgoing::error(id.unwrap_or(RawValue::NULL), &error).to_bytes();
    json(status, body)
}

/// Makes the response to a request without a usable session.
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

/// Makes a response of one JSON text.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<McpBody> {
    let mut response = Response::new(McpBody::whole(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Returns the status for an error of a stateless request.
pub(super) fn modern_status(error: &RpcError) -> StatusCode {
    match error.code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CAPABILITY
        | RpcError::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
