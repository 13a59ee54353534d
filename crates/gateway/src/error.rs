//! Errors of REST: a status, and a body with the reason.

use axum::{
    extract::rejection::BytesRejection,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use switchboard_access::Rejection;
use switchboard_toolcall::ErrorKind;

use crate::json_body::Json;

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    /// The request was not admitted.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The caller lacks the right.
    #[error("{0}")]
    Forbidden(String),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The client took too long to send it.
    #[error("{0}")]
    TooSlow(String),
    /// The request is too large.
    #[error("{0}")]
    TooLarge(String),
    /// It does not exist.
    #[error("{0}")]
    NotFound(String),
    /// It exists, but not for this method.
    #[error("{0}")]
    WrongMethod(String),
    /// It conflicts with the current state: already decided, expired, or a skipped server.
    #[error("{0}")]
    Conflict(String),
    /// An internal error.
    #[error("{0}")]
    Unavailable(String),
}

impl ApiError {
    /// Returns the status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Rejected(rejection) => rejection.status(),
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.code(),
            Self::Forbidden(_) => ErrorKind::Denied.code(),
            Self::BadRequest(_) | Self::TooLarge(_) | Self::WrongMethod(_) | Self::Conflict(_) => {
                ErrorKind::InvalidParameters.code()
            }
            Self::TooSlow(_) => ErrorKind::Timeout.code(),
            Self::NotFound(_) => ErrorKind::NotFound.code(),
            Self::Unavailable(_) => ErrorKind::Unavailable.code(),
        }
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge(rejection.body_text()),
            _ => Self::BadRequest(rejection.body_text()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({"success": false, "error": self.to_string(), "error_kind": self.code()});
        let mut response = (self.status(), Json(body)).into_response();
        // Kept for routes of another protocol, which convert the error to their own format.
        response.extensions_mut().insert(self.clone());
        let headers = response.headers_mut();
        match self {
            Self::Rejected(rejection) if rejection.status() == StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, rejection.challenge(None, None));
            }
            Self::Rejected(Rejection::TooManyRequests { retry_after, .. }) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
            }
            Self::TooSlow(_) => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// Gives the router's empty response to a wrong method a body that names the methods which are served.
pub(crate) fn explain_wrong_method(response: Response, method: &Method, path: &str) -> Response {
    let is_empty = !response.headers().contains_key(header::CONTENT_TYPE);
    if response.status() != StatusCode::METHOD_NOT_ALLOWED || !is_empty {
        return response;
    }
    let allow = response.headers().get(header::ALLOW).cloned();
    let allowed = allow.as_ref().and_then(|allow| allow.to_str().ok()).unwrap_or_default();
    let allowed = allowed.replace(',', ", ");
    let text = format!("`{path}` does not take {method}, only {allowed}; see /openapi.json");
    let mut explained = ApiError::WrongMethod(text).into_response();
    explained.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
    explained
}

/// After how many seconds a client may try again what was not done because too much was being done.
pub(crate) const OVERLOADED_RETRY_AFTER: u64 = 1;

/// Returns the response to a call with this outcome; `overloaded` says when to try again.
pub(crate) fn call_response(kind: Option<ErrorKind>, body: impl Serialize) -> Response {
    let mut response = (status(kind), Json(body)).into_response();
    if kind == Some(ErrorKind::Overloaded) {
        let seconds = HeaderValue::from(OVERLOADED_RETRY_AFTER);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// Returns the status for an outcome (SPEC §13).
fn status(kind: Option<ErrorKind>) -> StatusCode {
    match kind {
        None => StatusCode::OK,
        Some(ErrorKind::NotFound | ErrorKind::UnknownServer) => StatusCode::NOT_FOUND,
        Some(ErrorKind::InvalidParameters) => StatusCode::UNPROCESSABLE_ENTITY,
        Some(ErrorKind::Denied) => StatusCode::FORBIDDEN,
        Some(ErrorKind::Timeout) => StatusCode::GATEWAY_TIMEOUT,
        Some(ErrorKind::Unavailable | ErrorKind::Overloaded) => StatusCode::SERVICE_UNAVAILABLE,
        Some(ErrorKind::ToolError) => StatusCode::BAD_GATEWAY,
        Some(ErrorKind::Cancelled) => {
            StatusCode::from_u16(499).unwrap_or(StatusCode::REQUEST_TIMEOUT)
        }
        Some(ErrorKind::Internal | ErrorKind::OutcomeUnknown) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
