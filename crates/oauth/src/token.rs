//! The token endpoint.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use switchboard_vault::Secret;
use url::Url;

use super::{
    client::Client,
    error::Error,
    http::{Answer, HttpClient},
};

/// Tokens, as an authorization server gives them.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// When the access token ends, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// What was granted, if that is said.
    pub(super) scopes: Option<Vec<String>>,
}

/// Asks for tokens with a grant.
///
/// # Errors
/// The request fails or is refused.
pub(super) async fn request(
    http: &HttpClient,
    endpoint: &Url,
    client: &Client,
    grant: &[(&str, &str)],
) -> Result<Tokens, Error> {
    let mut form = grant.to_vec();
    let authorization = client.sign(&mut form);
    let answer = http.form(endpoint, &form, authorization.as_deref(), "get a token").await?;
    match answer.status.is_success() {
        true => read(&answer.body),
        false => Err(refusal(&answer)),
    }
}

fn read(body: &Value) -> Result<Tokens, Error> {
    let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty());
    let access = text("access_token")
        .ok_or_else(|| Error::Metadata("the token endpoint gave no access token".to_owned()))?;
    let kind = text("token_type").unwrap_or("Bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(Error::Metadata(format!("tokens of type `{kind}` cannot be used")));
    }
    // Some write the number as a text.
    let lifetime = body["expires_in"].as_u64().or_else(|| text("expires_in")?.parse().ok());
    Ok(Tokens {
        access: access.into(),
        refresh: text("refresh_token").map(Secret::from),
        expires_at: lifetime.map(|seconds| now().saturating_add(seconds)),
        scopes: text("scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
    })
}

/// What an authorization server says that refuses something.
pub(super) fn refusal(answer: &Answer) -> Error {
    let text = |name: &str| answer.body[name].as_str().map(|text| text.chars().take(300).collect());
    let code = text("error").unwrap_or_else(|| format!("HTTP status {}", answer.status.as_u16()));
    Error::Refused { code, description: text("error_description") }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
