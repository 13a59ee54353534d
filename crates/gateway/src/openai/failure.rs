//! How a chat fails: a status and OpenAI's error body.

use axum::{
    extract::rejection::BytesRejection,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use switchboard_access::Rejection;
use switchboard_models::{FailureKind, ModelError};

use super::wire::{ErrorBody, ErrorDetails};
use crate::{
    error::{ApiError, OVERLOADED_RETRY_AFTER},
    json_body::Json,
};

/// Why a chat failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ChatFailure {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// The field of the request that is wrong.
    pub(super) param: Option<String>,
    pub(super) code: Option<&'static str>,
    /// When the client may retry, in seconds.
    pub(super) retry_after: Option<u64>,
    /// Whether tools were run: clients that retry by themselves would run them twice.
    pub(super) has_acted: bool,
    /// Whether a retry would fail in the same way.
    pub(super) is_final: bool,
}

impl ChatFailure {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            status,
            message,
            param: None,
            code: None,
            retry_after: None,
            has_acted: false,
            is_final: false,
        }
    }

    /// Creates the failure for an invalid field of the request.
    pub(super) fn wrong(param: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        let param = param.into();
        let message = format!("`{param}`: {problem}");
        Self { param: Some(param), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    pub(super) fn not_found(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Returns the body, which is also used within a stream.
    pub(super) fn body(&self) -> ErrorBody {
        let kind = match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let (message, param) = (self.message.clone(), self.param.clone());
        ErrorBody { error: ErrorDetails { message, kind, param, code: self.code } }
    }
}

impl IntoResponse for ChatFailure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.has_acted || self.is_final {
            // OpenAI's own clients obey this header.
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}

impl From<ModelError> for ChatFailure {
    /// A provider that refuses our key is not the client's fault, so this must not look like it. A request that the provider
    /// refuses is a 400: most clients retry by themselves after a 5xx, in vain.
    fn from(error: ModelError) -> Self {
        let (status, code) = match error.kind {
            FailureKind::RateLimited => {
                (StatusCode::TOO_MANY_REQUESTS, Some("rate_limit_exceeded"))
            }
            FailureKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, Some("provider_timeout")),
            FailureKind::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, Some("provider_overloaded"))
            }
            FailureKind::ContextFull => (StatusCode::BAD_REQUEST, Some("context_length_exceeded")),
            FailureKind::Config => (StatusCode::INTERNAL_SERVER_ERROR, None),
            FailureKind::Rejected if matches!(error.status, Some(400 | 415 | 422)) => {
                (StatusCode::BAD_REQUEST, Some("provider_rejected"))
            }
            _ => (StatusCode::BAD_GATEWAY, Some("provider_failed")),
        };
        let retry_after =
            error.retry_after.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        let is_overloaded = error.kind == FailureKind::Overloaded;
        let retry_after = retry_after.or(is_overloaded.then_some(OVERLOADED_RETRY_AFTER));
        let is_final =
            matches!(error.kind, FailureKind::Auth | FailureKind::Config | FailureKind::Rejected);
        Self { code, retry_after, is_final, ..Self::new(status, error.to_string()) }
    }
}

impl From<BytesRejection> for ChatFailure {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<&ApiError> for ChatFailure {
    fn from(error: &ApiError) -> Self {
        let code = match error {
            ApiError::Rejected(Rejection::Unauthorized(_) | Rejection::InvalidToken(_)) => {
                Some("invalid_api_key")
            }
            ApiError::Rejected(Rejection::TooManyRequests { .. }) => Some("rate_limit_exceeded"),
            _ => None,
        };
        Self { code, ..Self::new(error.status(), error.to_string()) }
    }
}

/// Converts the body of an error response from elsewhere to OpenAI's format.
pub(super) async fn reworded(response: Response) -> Response {
    let failure = match response.extensions().get::<ApiError>() {
        Some(error) => ChatFailure::from(error),
        None if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
            ChatFailure::new(response.status(), "this method is not served here; see /openapi.json")
        }
        None => return response,
    };
    let mut headers = response.headers().clone();
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::CONTENT_TYPE);
    let mut response = failure.into_response();
    response.headers_mut().extend(headers);
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_provider_says_of_us_is_not_the_clients_fault() {
        let cases = [
            (FailureKind::Auth, 502, Some("provider_failed")),
            (FailureKind::Rejected, 502, Some("provider_failed")),
            (FailureKind::Connect, 502, Some("provider_failed")),
            (FailureKind::Timeout, 504, Some("provider_timeout")),
            (FailureKind::Overloaded, 503, Some("provider_overloaded")),
            (FailureKind::RateLimited, 429, Some("rate_limit_exceeded")),
            (FailureKind::ContextFull, 400, Some("context_length_exceeded")),
            (FailureKind::Config, 500, None),
        ];
        for (kind, status, code) in cases {
            let failure = ChatFailure::from(ModelError::new(kind, "so it is"));
            assert_eq!((failure.status.as_u16(), failure.code), (status, code), "{kind:?}");
        }
        for (status, expected) in [(400, 400), (422, 400), (404, 502), (402, 502)] {
            let mut error = ModelError::new(FailureKind::Rejected, "m does not support tools");
            error.status = Some(status);
            let failure = ChatFailure::from(error);
            assert_eq!(failure.status.as_u16(), expected, "{status}");
            let response = failure.into_response();
            assert_eq!(response.headers()["x-should-retry"], "false", "{status}");
        }
        let mut error = ModelError::new(FailureKind::RateLimited, "slowly");
        error.retry_after = Some(Duration::from_millis(2_500));
        let response = ChatFailure::from(error).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
        // A provider that does not say when: a client waits a moment all the same.
        let overloaded = ModelError::new(FailureKind::Overloaded, "not now");
        let response = ChatFailure::from(overloaded).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    }
}
