//! The token endpoint.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use switchboard_vault::Secret;
use url::Url;

use super::{
    client::Client,
    dpop::{self, DpopKey, USE_NONCE},
    error::Error,
    http::{Answer, HttpClient},
};

/// Tokens, as an authorization server gives them.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    /// Whether it is good only with our key (DPoP).
    pub(super) is_bound: bool,
    pub(super) refresh: Option<Secret>,
    /// When the access token ends, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The ID token, if one was given.
    pub(super) id_token: Option<Secret>,
    /// What was granted, if that is said.
    pub(super) scopes: Option<Vec<String>>,
}

/// Where tokens are asked for, and as whom.
pub(super) struct TokenEndpoint<'a> {
    pub(super) url: &'a Url,
    pub(super) issuer: &'a str,
    pub(super) client: &'a Client,
    /// The key that the tokens are to be bound to.
    pub(super) dpop: Option<&'a DpopKey>,
}

impl TokenEndpoint<'_> {
    /// Asks for tokens with a grant.
    ///
    /// # Errors
    /// The request fails or is refused.
    pub(super) async fn request(
        &self,
        http: &HttpClient,
        grant: &[(&str, &str)],
    ) -> Result<Tokens, Error> {
        let mut answer = self.send(http, grant, None).await?;
        // A nonce is asked for in the answer to the first request.
        if let Some(nonce) = answer.nonce.clone().filter(|_| answer.body["error"] == USE_NONCE) {
            answer = self.send(http, grant, Some(&nonce)).await?;
        }
        match answer.status.is_success() {
            true => read(&answer.body),
            false => Err(refusal(&answer)),
        }
    }

    async fn send(
        &self,
        http: &HttpClient,
        grant: &[(&str, &str)],
        nonce: Option<&str>,
    ) -> Result<Answer, Error> {
        let mut proof = self.client.proof(self.issuer)?;
        if let Some(key) = self.dpop {
            let text = key.proof("POST", self.url, None, nonce)?;
            proof.headers.push((dpop::PROOF, text.into()));
        }
        http.form(self.url, &proof.form(grant), &proof.headers, "get a token").await
    }
}

fn read(body: &Value) -> Result<Tokens, Error> {
    let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty());
    let access = text("access_token")
        .ok_or_else(|| Error::Metadata("the token endpoint gave no access token".to_owned()))?;
    let kind = text("token_type").unwrap_or("Bearer");
    let is_bound = kind.eq_ignore_ascii_case("dpop");
    if !is_bound && !kind.eq_ignore_ascii_case("bearer") {
        return Err(Error::Metadata(format!("tokens of type `{kind}` cannot be used")));
    }
    // Some write the number as a text.
    let lifetime = body["expires_in"].as_u64().or_else(|| text("expires_in")?.parse().ok());
    Ok(Tokens {
        access: access.into(),
        is_bound,
        refresh: text("refresh_token").map(Secret::from),
        expires_at: lifetime.map(|seconds| now().saturating_add(seconds)),
        id_token: text("id_token").map(Secret::from),
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
