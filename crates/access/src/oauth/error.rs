//! Errors in the words of OAuth.

use http::StatusCode;

/// An error of OAuth: a code of RFC 6749, 7591 or 8707, and a text for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
pub struct OAuthError {
    /// The code.
    pub code: &'static str,
    /// What is wrong.
    pub description: String,
}

impl OAuthError {
    /// Creates an error.
    pub fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into() }
    }

    pub(super) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    /// The code or the refresh token is not valid, whatever the reason; clients must not learn which.
    pub(super) fn invalid_grant() -> Self {
        Self::new(
            "invalid_grant",
            "it is unknown, expired, used before, or of another client; ask for authorization again",
        )
    }

    pub(super) fn unavailable(description: impl Into<String>) -> Self {
        Self::new("temporarily_unavailable", description)
    }

    /// Returns the status of a response with this error.
    pub fn status(&self) -> StatusCode {
        match self.code {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            "slow_down" => StatusCode::TOO_MANY_REQUESTS,
            "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}
