//! How a request is turned away: a status and a body that says why.

use axum::{
    Json,
    extract::rejection::BytesRejection,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use switchboard_toolcall::ErrorKind;

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no token, or nobody knows it.
    #[error("{0}")]
    Unauthorized(String),
    /// There is a token, and it is no good.
    #[error("{0}")]
    InvalidToken(String),
    /// It comes from a page, or under a name, that is not ours.
    #[error("{0}")]
    Forbidden(String),
    /// The token's share is used up.
    #[error("{reason}")]
    TooMany {
        /// Which share.
        reason: String,
        /// When to ask again, in seconds.
        retry_after: u64,
    },
    /// The request itself is wrong.
    #[error("{0}")]
    BadRequest(String),
    /// The client took too long to send it.
    #[error("{0}")]
    TooSlow(String),
    /// The request is too large.
    #[error("{0}")]
    TooLarge(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It does not fit how things are now: somebody else was faster, the time is over, or a server is skipped.
    #[error("{0}")]
    Conflict(String),
    /// Something of ours is broken.
    #[error("{0}")]
    Unavailable(String),
}

impl Refusal {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized(_) | Self::InvalidToken(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized(_) | Self::InvalidToken(_) => "unauthorized",
            Self::Forbidden(_) => ErrorKind::Denied.code(),
            Self::TooMany { .. } => ErrorKind::Overloaded.code(),
            Self::BadRequest(_) | Self::TooLarge(_) | Self::Conflict(_) => {
                ErrorKind::InvalidParameters.code()
            }
            Self::TooSlow(_) => ErrorKind::Timeout.code(),
            Self::NotFound(_) => ErrorKind::NotFound.code(),
            Self::Unavailable(_) => ErrorKind::Unavailable.code(),
        }
    }
}

impl Refusal {
    /// What a client that is turned away should do about it: RFC 6750, and RFC 9728 where there is metadata.
    pub(crate) fn challenge(&self, metadata: Option<&str>) -> HeaderValue {
        let quoted = |text: &str| -> String {
            let plain =
                |c| if matches!(c, ' '..='~') && !matches!(c, '"' | '\\') { c } else { '\'' };
            text.chars().map(plain).collect()
        };
        let mut parameters = Vec::new();
        if let Self::InvalidToken(reason) = self {
            parameters.push("error=\"invalid_token\"".to_owned());
            parameters.push(format!("error_description=\"{}\"", quoted(reason)));
        }
        if let Some(metadata) = metadata {
            parameters.push(format!("resource_metadata=\"{}\"", quoted(metadata)));
        }
        let text = format!("Bearer {}", parameters.join(", "));
        HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

impl From<BytesRejection> for Refusal {
    fn from(rejection: BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge(rejection.body_text()),
            _ => Self::BadRequest(rejection.body_text()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({"success": false, "error": self.to_string(), "error_kind": self.code()});
        let mut response = (self.status(), Json(body)).into_response();
        // Whoever speaks another wire puts it into other words.
        response.extensions_mut().insert(self.clone());
        let headers = response.headers_mut();
        match self {
            Self::Unauthorized(_) | Self::InvalidToken(_) => {
                headers.insert(header::WWW_AUTHENTICATE, self.challenge(None));
            }
            Self::TooSlow(_) => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::TooMany { retry_after, .. } => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
            }
            _ => {}
        }
        response
    }
}

/// The status for an outcome (SPEC §13).
pub(crate) fn status(kind: Option<ErrorKind>) -> StatusCode {
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
