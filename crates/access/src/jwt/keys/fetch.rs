//! Fetches a key set: with a timeout and a size limit, and never unencrypted from another machine.

use std::{net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, Url, redirect::Policy};
use serde::Deserialize;

use super::KeysError;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How large it may be.
const MOST: usize = 1 << 20;

/// Where a key set can be fetched.
#[derive(Clone)]
pub(super) struct KeySetUrl {
    url: Url,
    client: Client,
    /// Set if this is the issuer's discovery document.
    issuer: Option<Arc<str>>,
}

impl KeySetUrl {
    /// The URL of the keys themselves.
    pub(super) fn of_keys(address: &str) -> Result<Self, KeysError> {
        Self::new(address, None)
    }

    /// The URL of the issuer's discovery document (OpenID Connect Discovery).
    pub(super) fn of_issuer(issuer: &str) -> Result<Self, KeysError> {
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        Self::new(&address, Some(issuer.into()))
    }

    fn new(address: &str, issuer: Option<Arc<str>>) -> Result<Self, KeysError> {
        let wrong = |reason: String| KeysError::Address { address: address.to_owned(), reason };
        let url = guarded(address).map_err(wrong)?;
        // reqwest is built without a crypto provider; one may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect could lead away from https.
        let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
        let client = client.map_err(|error| wrong(format!("cannot be asked: {error}")))?;
        Ok(Self { url, client, issuer })
    }

    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    pub(super) async fn fetch(&self) -> Result<Vec<u8>, KeysError> {
        let text = self.get(self.url.clone()).await?;
        match &self.issuer {
            None => Ok(text),
            Some(issuer) => {
                let url = place_of_keys(issuer, &text).map_err(|reason| self.wrong(reason))?;
                self.get(url).await
            }
        }
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, KeysError> {
        let failed = |error: reqwest::Error| self.wrong(error.to_string());
        let response = self.client.get(url).send().await.map_err(failed)?;
        let mut response = response.error_for_status().map_err(failed)?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if text.len() + chunk.len() > MOST {
                return Err(self.wrong("it is larger than 1 MiB".to_owned()));
            }
            text.extend_from_slice(&chunk);
        }
        Ok(text)
    }

    fn wrong(&self, reason: String) -> KeysError {
        KeysError::Format { from: self.url().to_owned(), reason }
    }
}

/// Returns the URL of the keys from the discovery document.
fn place_of_keys(issuer: &str, text: &[u8]) -> Result<Url, String> {
    #[derive(Deserialize)]
    struct DiscoveryDocument {
        issuer: String,
        jwks_uri: String,
    }
    let document: DiscoveryDocument = serde_json::from_slice(text)
        .map_err(|error| format!("it does not say where the keys are: {error}"))?;
    match document.issuer == issuer {
        true => {
            guarded(&document.jwks_uri).map_err(|why| format!("its `{}` {why}", document.jwks_uri))
        }
        false => Err(format!("it is of the issuer `{}`, not `{issuer}`", document.issuer)),
    }
}

/// Parses a URL that nobody on the network can tamper with.
pub(crate) fn guarded(address: &str) -> Result<Url, String> {
    let url: Url = address.parse().map_err(|error| format!("is not a URL: {error}"))?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local(&url) => Ok(url),
        _ => Err("must be https: whoever sends the keys decides who gets in".to_owned()),
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
