//! Why a request is rejected.

use http::{HeaderValue, StatusCode};
use switchboard_toolcall::ErrorKind;

/// Why a request is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The request has no token, or one that cannot be read.
    #[error("{0}")]
    Unauthorized(String),
    /// The token is unknown, expired or not meant for this gateway.
    #[error("{0}")]
    InvalidToken(String),
    /// The request comes from a page, or under a host name, that is not allowed.
    #[error("{0}")]
    Forbidden(String),
    /// The token's quota is used up.
    #[error("{reason}")]
    TooManyRequests {
        /// Which quota.
        reason: String,
        /// When to retry, in seconds.
        retry_after: u64,
    },
    /// The request has no valid host.
    #[error("{0}")]
    BadRequest(String),
    /// The request cannot be checked now.
    #[error("{0}")]
    Unavailable(String),
}

impl Rejection {
    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized(_) | Self::InvalidToken(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the error code of the response.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized(_) | Self::InvalidToken(_) => "unauthorized",
            Self::Forbidden(_) => ErrorKind::Denied.code(),
            Self::TooManyRequests { .. } => ErrorKind::Overloaded.code(),
            Self::BadRequest(_) => ErrorKind::InvalidParameters.code(),
            Self::Unavailable(_) => ErrorKind::Unavailable.code(),
        }
    }

    /// Returns the value of `WWW-Authenticate`: RFC 6750, and RFC 9728 if there is `metadata`. `scope` is what clients should request.
    pub fn challenge(&self, metadata: Option<&str>, scope: Option<&str>) -> HeaderValue {
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
        if let Some(scope) = scope {
            parameters.push(format!("scope=\"{}\"", quoted(scope)));
        }
        let text = format!("Bearer {}", parameters.join(", "));
        HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}
