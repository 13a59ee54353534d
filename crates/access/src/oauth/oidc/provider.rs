//! The issuer: where its endpoints are, and what it gives for a code.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, RequestBuilder, Url, redirect::Policy};
use serde::Deserialize;
use tokio::time::Instant;
use url::form_urlencoded::byte_serialize;
use zeroize::Zeroizing;

use super::OidcConfig;
use crate::jwt::guarded;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How large it may be, and for how much there is room at first.
const MOST: usize = 1 << 20;
const USUAL: usize = 16 << 10;
/// How long the endpoints are cached.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// An issuer of ID tokens.
pub(super) struct OidcProvider {
    issuer: String,
    http: Option<Client>,
    known: Mutex<Option<(OidcEndpoints, Instant)>>,
}

/// What is used of its discovery document.
#[derive(Clone)]
pub(super) struct OidcEndpoints {
    pub(super) authorization: Url,
    token: Url,
    /// Whether the secret goes into the form instead of a header.
    is_post: bool,
    /// Whether its responses name it (RFC 9207).
    pub(super) names_itself: bool,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct IdTokenResponse {
    id_token: Option<Zeroizing<String>>,
    error: Option<String>,
}

impl OidcProvider {
    pub(super) fn new(issuer: &str) -> Self {
        // reqwest is built without a crypto provider; one may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
        let http =
            http.inspect_err(|error| tracing::warn!(%error, "failed to create the HTTP client"));
        Self { issuer: issuer.to_owned(), http: http.ok(), known: Mutex::default() }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the endpoints, which are asked for now and then.
    ///
    /// # Errors
    /// The issuer does not say where they are.
    pub(super) async fn endpoints(&self) -> Result<OidcEndpoints, String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((endpoints, _)) = known.filter(|(_, since)| since.elapsed() < FRESH) {
            return Ok(endpoints);
        }
        let failed = |why: String| format!("{} cannot be signed in at: {why}", self.issuer);
        let found = self.discover().await.map_err(failed)?;
        let known = Some((found.clone(), Instant::now()));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(found)
    }

    async fn discover(&self) -> Result<OidcEndpoints, String> {
        let issuer = self.issuer.trim_end_matches('/');
        let url = guarded(&format!("{issuer}/.well-known/openid-configuration"))?;
        let (status, text) = self.send(self.http()?.get(url)).await?;
        if status != 200 {
            return Err(format!("its discovery document has status {status}"));
        }
        let document: DiscoveryDocument = serde_json::from_slice(&text)
            .map_err(|error| format!("its discovery document cannot be used: {error}"))?;
        if document.issuer != self.issuer {
            return Err(format!("its discovery document is of `{}`", document.issuer));
        }
        let endpoint = |address: &str| guarded(address).map_err(|why| format!("`{address}` {why}"));
        let methods = document.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.iter().flatten().any(|method| method == name);
        Ok(OidcEndpoints {
            authorization: endpoint(&document.authorization_endpoint)?,
            token: endpoint(&document.token_endpoint)?,
            is_post: has("client_secret_post") && !has("client_secret_basic"),
            names_itself: document.authorization_response_iss_parameter_supported,
        })
    }

    /// Exchanges a code for an ID token, which is not verified yet.
    ///
    /// # Errors
    /// The issuer refuses or cannot be reached.
    pub(super) async fn redeem(
        &self,
        config: &OidcConfig,
        endpoints: &OidcEndpoints,
        code: &str,
        verifier: &str,
        redirect: &str,
    ) -> Result<Zeroizing<String>, String> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        let mut request = self.http()?.post(endpoints.token.clone());
        match config.client_secret.as_ref().map(|secret| secret.as_str()) {
            Some(secret) if !endpoints.is_post => {
                // Each is encoded as in a form (RFC 6749, 2.3.1).
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let secret = Zeroizing::new(encoded(secret));
                request = request.basic_auth(encoded(&config.client_id), Some(&*secret));
            }
            secret => {
                form.push(("client_id", &config.client_id));
                form.extend(secret.map(|secret| ("client_secret", secret)));
            }
        }
        let request = request.header("accept", "application/json").form(&form);
        let (status, text) = self.send(request).await?;
        let answer: IdTokenResponse = serde_json::from_slice(&text)
            .map_err(|_| format!("{} gave no token (status {status})", self.issuer))?;
        match (status, answer) {
            (200, IdTokenResponse { id_token: Some(token), .. }) => Ok(token),
            (200, _) => Err(format!("{} gave no ID token", self.issuer)),
            (_, answer) => {
                let why = answer.error.unwrap_or_else(|| format!("status {status}"));
                Err(format!("{} refused the code: {why}", self.issuer))
            }
        }
    }

    fn http(&self) -> Result<&Client, String> {
        self.http.as_ref().ok_or_else(|| "HTTPS cannot be used here".to_owned())
    }

    /// Sends a request, and reads the response, which may have a token.
    async fn send(&self, request: RequestBuilder) -> Result<(u16, Zeroizing<Vec<u8>>), String> {
        let failed = |error: reqwest::Error| match error.is_timeout() {
            true => format!("{} did not answer in time", self.issuer),
            false => format!("{} cannot be reached", self.issuer),
        };
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let mut text = Zeroizing::new(Vec::with_capacity(USUAL));
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if text.len() + chunk.len() > MOST {
                return Err(format!("{} said more than 1 MiB", self.issuer));
            }
            if text.len() + chunk.len() > text.capacity() {
                // What a growing `Vec` leaves behind is not overwritten.
                let mut larger = Zeroizing::new(Vec::with_capacity(2 * text.len() + chunk.len()));
                larger.extend_from_slice(&text);
                text = larger;
            }
            text.extend_from_slice(&chunk);
        }
        Ok((status, text))
    }
}
