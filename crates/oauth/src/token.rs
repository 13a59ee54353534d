//! The token endpoint.

use serde::Deserialize;
use serde_json::Value;
use switchboard_toolcall::time::unix_seconds;
use switchboard_vault::Secret;
use url::Url;

use super::{
    client::ClientRegistration,
    dpop::{self, DpopKey, USE_NONCE},
    error::Error,
    http::{HttpClient, OAuthResponse},
};

/// The error codes that say no, or not yet, whatever the status.
const DECISIONS: [&str; 7] = [
    "invalid_grant",
    "invalid_client",
    "unauthorized_client",
    "access_denied",
    "authorization_pending",
    "slow_down",
    "expired_token",
];
/// The error codes that decide nothing.
const BUSY: [&str; 2] = ["temporarily_unavailable", "server_error"];

/// Tokens, as an authorization server gives them.
#[derive(Clone, Debug)]
pub(super) struct IssuedTokens {
    pub(super) access: Secret,
    /// Whether it is good only with our key (DPoP).
    pub(super) is_bound: bool,
    pub(super) refresh: Option<Secret>,
    /// When they were given, in seconds since 1970.
    pub(super) obtained_at: u64,
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
    pub(super) client: &'a ClientRegistration,
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
    ) -> Result<IssuedTokens, Error> {
        let mut answer = self.send(http, grant, None).await?;
        // A nonce is asked for in the answer to the first request.
        let is_refused = !answer.status.is_success();
        let wants_nonce = is_refused && answer.body()["error"] == USE_NONCE;
        if let Some(nonce) = answer.nonce.clone().filter(|_| wants_nonce) {
            answer = self.send(http, grant, Some(&nonce)).await?;
        }
        match answer.status.is_success() {
            true => read(&answer),
            false => Err(refusal(&answer)),
        }
    }

    async fn send(
        &self,
        http: &HttpClient,
        grant: &[(&str, &str)],
        nonce: Option<&str>,
    ) -> Result<OAuthResponse, Error> {
        let mut proof = self.client.proof(self.issuer)?;
        if let Some(key) = self.dpop {
            let text = key.proof("POST", self.url, None, nonce)?;
            proof.headers.push((dpop::PROOF, text.into()));
        }
        http.form(self.url, grant, &proof, "get a token").await
    }
}

/// The answer of the token endpoint.
#[derive(Deserialize)]
struct TokenEndpointResponse {
    access_token: Option<Secret>,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    id_token: Option<Secret>,
    /// A number, which some write as a text.
    expires_in: Option<Value>,
    scope: Option<Value>,
}

fn read(answer: &OAuthResponse) -> Result<IssuedTokens, Error> {
    let body: TokenEndpointResponse = answer.read().map_err(|error| match error.is_data() {
        true => Error::Metadata("the token endpoint's answer cannot be used".to_owned()),
        // A page for people, as a proxy sends while the authorization server is down.
        false => Error::Busy { code: "the token endpoint gave no JSON".to_owned() },
    })?;
    let is_there = |secret: &Secret| !secret.expose().is_empty();
    let access = body
        .access_token
        .filter(is_there)
        .ok_or_else(|| Error::Metadata("the token endpoint gave no access token".to_owned()))?;
    let kind = body.token_type.as_deref().filter(|kind| !kind.is_empty()).unwrap_or("Bearer");
    let is_bound = kind.eq_ignore_ascii_case("dpop");
    if !is_bound && !kind.eq_ignore_ascii_case("bearer") {
        return Err(Error::Metadata(format!("tokens of type `{kind}` cannot be used")));
    }
    let lifetime = body.expires_in.as_ref();
    let lifetime = lifetime.and_then(|life| life.as_u64().or_else(|| life.as_str()?.parse().ok()));
    let scopes = body.scope.as_ref().and_then(Value::as_str).filter(|scopes| !scopes.is_empty());
    Ok(IssuedTokens {
        access,
        is_bound,
        refresh: body.refresh_token.filter(is_there),
        obtained_at: unix_seconds(),
        expires_at: lifetime.map(|seconds| unix_seconds().saturating_add(seconds)),
        id_token: body.id_token.filter(is_there),
        scopes: scopes.map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
    })
}

/// What an authorization server says that refuses something, or cannot decide now.
pub(super) fn refusal(answer: &OAuthResponse) -> Error {
    let body = answer.body();
    let text = |name: &str| body[name].as_str().map(|text| text.chars().take(300).collect());
    let status = answer.status.as_u16();
    let code: String = text("error").unwrap_or_else(|| format!("HTTP status {status}"));
    let is_busy = answer.status.is_server_error() || matches!(status, 408 | 425 | 429);
    let is_decided = DECISIONS.contains(&code.as_str());
    if BUSY.contains(&code.as_str()) || (is_busy && !is_decided) {
        return Error::Busy { code };
    }
    Error::Refused { code, description: text("error_description") }
}
