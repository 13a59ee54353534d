//! Errors of requests, and their texts.

use std::error::Error;

use reqwest::{StatusCode, header::HeaderMap};
use switchboard_toolcall::text::shortened;
use switchboard_toolcall::{ErrorKind, ToolError};

use super::{answer, exchange::MAX_BODY};

/// How much of a body an error shows, in characters.
const SHOWN: usize = 2000;

/// Why there is no result. `service` is the server's host and port.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields say what they are")]
#[non_exhaustive]
pub enum HttpFailure {
    /// No connection.
    Unreachable { service: String, error: reqwest::Error },
    /// The answer ended before its end, or is not HTTP.
    BrokenOff { service: String, error: reqwest::Error },
    /// The status is 400 or more.
    Status {
        service: String,
        status: StatusCode,
        headers: HeaderMap,
        retry_after: Option<String>,
        content_type: Option<String>,
        body: Vec<u8>,
    },
    /// The answer is elsewhere.
    RedirectsElsewhere { service: String, code: u16, to: String },
    /// The answer is always somewhere else.
    RedirectsTooOften { service: String, most: usize },
    /// The response is compressed although that was not requested.
    Encoded { service: String, encoding: String },
    /// More than is taken.
    TooLong { service: String },
}

impl HttpFailure {
    /// The request did not come to an answer.
    pub(super) fn network(service: &str, error: reqwest::Error) -> Self {
        let (service, error) = (service.to_owned(), error.without_url());
        match error.is_connect() || error.is_timeout() || error.is_builder() {
            true => Self::Unreachable { service, error },
            false => Self::BrokenOff { service, error },
        }
    }

    /// The answer did not come to its end.
    pub(super) fn broken_off(service: &str, error: reqwest::Error) -> Self {
        Self::BrokenOff { service: service.to_owned(), error: error.without_url() }
    }

    /// The error that the caller of the tool reads.
    pub fn explain(self, tool: &str) -> ToolError {
        match self {
            Self::Unreachable { service, error } => {
                let hint = format!("Reason: {}", root(&error));
                ToolError::unreachable(tool, service).with_hint(hint).caused_by(error)
            }
            Self::BrokenOff { service, error } => {
                let text = format!(
                    "Tool '{tool}' is unavailable: {service} broke off its answer ({})",
                    root(&error)
                );
                ToolError::new(ErrorKind::Unavailable, text).caused_by(error)
            }
            Self::Status { service, status, retry_after, content_type, body, .. } => {
                let wait = retry_after.map(|wait| format!(" (Retry-After: {wait})"));
                let said = match answer::text(content_type.as_deref(), &body) {
                    Some(text) => shortened(text.trim(), SHOWN).into_owned(),
                    None => format!("{} bytes of {}", body.len(), content_type.unwrap_or_default()),
                };
                let said = if said.is_empty() { said } else { format!(": {said}") };
                let wait = wait.unwrap_or_default();
                ToolError::failed(format_args!("{service} answered {status}{wait}{said}"))
            }
            Self::RedirectsElsewhere { service, code, to } => ToolError::failed(format_args!(
                "{service} redirects to {to} ({code}); only redirects within its origin are followed"
            )),
            Self::RedirectsTooOften { service, most } => {
                ToolError::failed(format_args!("{service} redirects more than {most} times"))
            }
            Self::Encoded { service, encoding } => ToolError::failed(format_args!(
                "{service} answered in the encoding '{encoding}', which it was not asked for"
            )),
            Self::TooLong { service } => ToolError::failed(format_args!(
                "{service} answered with more than {} MiB",
                MAX_BODY / 1024 / 1024
            )),
        }
    }
}

/// The first cause, which says the most.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
