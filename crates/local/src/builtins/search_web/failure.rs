//! What can go wrong with a provider, and what to say of it.

use reqwest::StatusCode;
use switchboard_toolcall::{ErrorKind, HumanDuration, ToolError};

use super::{Config, SearchProvider};

/// Why a search failed.
pub(super) enum SearchFailure {
    /// The settings are invalid.
    Settings(String),
    /// No connection.
    Unreachable(reqwest::Error),
    /// There was no answer within the time limit.
    TooSlow(reqwest::Error),
    /// The connection closed before the answer was complete.
    BrokenOff(reqwest::Error),
    /// The answer exceeds the size limit.
    TooLong(usize),
    /// The status of the answer is not a success.
    Status { status: StatusCode, retry_after: Option<String>, body: String },
    /// A page for people.
    WebPage,
    /// Something else than the JSON we know.
    NotJson(serde_json::Error),
}

impl SearchFailure {
    pub(super) fn network(error: reqwest::Error) -> Self {
        // Queries are the user's business, and addresses may hold passwords.
        let error = error.without_url();
        match error.is_timeout() {
            true => Self::TooSlow(error),
            false => Self::Unreachable(error),
        }
    }

    pub(super) fn broken_off(error: reqwest::Error) -> Self {
        let error = error.without_url();
        match error.is_timeout() {
            true => Self::TooSlow(error),
            false => Self::BrokenOff(error),
        }
    }

    pub(super) fn not_json(body: &[u8], error: serde_json::Error) -> Self {
        match body.trim_ascii_start().first() {
            Some(b'<') => Self::WebPage,
            _ => Self::NotJson(error),
        }
    }

    /// The error that the caller reads.
    pub(super) fn explain(self, config: &Config) -> ToolError {
        let service = config.service();
        match self {
            Self::Settings(problem) => unavailable(format_args!("[builtins.search_web] {problem}")),
            Self::Unreachable(error) => {
                ToolError::unreachable("search_web", service).caused_by(error)
            }
            Self::TooSlow(error) => {
                let limit = HumanDuration(config.timeout());
                unavailable(format_args!("{service} did not answer within {limit}"))
                    .caused_by(error)
            }
            Self::BrokenOff(error) => {
                unavailable(format_args!("{service} broke off its answer")).caused_by(error)
            }
            Self::TooLong(limit) => {
                ToolError::failed(format_args!("{service} answered with more than {limit} bytes"))
            }
            Self::Status { status, retry_after, body } => {
                said_no(config, status, retry_after.as_deref(), &body)
            }
            Self::WebPage => {
                let way_out = way_out(config.provider);
                ToolError::failed(format_args!(
                    "{service} answered with a web page instead of JSON; {way_out}"
                ))
            }
            Self::NotJson(error) => {
                let text = format!("{service} answered with something else than its JSON: {error}");
                ToolError::failed(text).caused_by(error)
            }
        }
    }
}

fn said_no(
    config: &Config,
    status: StatusCode,
    retry_after: Option<&str>,
    body: &str,
) -> ToolError {
    let service = config.service();
    let code = status.as_u16();
    if is_key_refused(config.provider, code, body) {
        return unavailable(format_args!("{service} refused the `api_key` ({code})"));
    }
    match code {
        401 | 403 => {
            let way_out = way_out(config.provider);
            unavailable(format_args!("{service} refused the request ({code}); {way_out}"))
        }
        429 => {
            let wait = retry_after.and_then(|wait| wait.parse::<u32>().ok());
            let wait = wait.map_or("later".to_owned(), |seconds| format!("in {seconds}s"));
            unavailable(format_args!("{service} has had too many requests (429); try again {wait}"))
        }
        300..=399 => {
            let text =
                "redirects to another server or in circles; check `url` in [builtins.search_web]";
            ToolError::failed(format_args!("{service} {text} ({code})"))
        }
        500.. => unavailable(format_args!("{service} failed ({code}); try again later")),
        _ => {
            ToolError::failed(format_args!("{service} refused the search ({code}){}", detail(body)))
        }
    }
}

fn is_key_refused(provider: SearchProvider, code: u16, body: &str) -> bool {
    match code {
        401 | 403 => provider == SearchProvider::Brave,
        // What Brave calls a wrong key.
        422 => provider == SearchProvider::Brave && body.contains("SUBSCRIPTION_TOKEN"),
        _ => false,
    }
}

fn unavailable(reason: impl std::fmt::Display) -> ToolError {
    let text = format!("Tool 'search_web' is unavailable: {reason}");
    ToolError::new(ErrorKind::Unavailable, text)
}

fn way_out(provider: SearchProvider) -> &'static str {
    match provider {
        // A SearXNG server returns JSON only if its operator allows it, and few do.
        SearchProvider::SearXng => "add `json` to `search.formats` in its settings.yml",
        SearchProvider::Brave | SearchProvider::DuckDuckGo => {
            "check `url` in [builtins.search_web]"
        }
    }
}

/// What the provider says is wrong, as Brave writes it.
fn detail(body: &str) -> String {
    const SHOWN: usize = 300;
    let error: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    match error.pointer("/error/detail").and_then(|detail| detail.as_str()) {
        Some(detail) => format!(": {}", detail.chars().take(SHOWN).collect::<String>()),
        None => String::new(),
    }
}
