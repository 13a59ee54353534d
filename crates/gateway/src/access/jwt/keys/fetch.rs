//! Fetches a key set: within a time, up to a size, and never in the clear from afar.

use std::{net::IpAddr, time::Duration};

use reqwest::{Client, Url, redirect::Policy};

use super::KeysError;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How large it may be.
const MOST: usize = 1 << 20;

/// Where a key set can be fetched.
#[derive(Clone)]
pub(super) struct Address {
    url: Url,
    client: Client,
}

impl Address {
    pub(super) fn new(address: &str) -> Result<Self, KeysError> {
        let wrong = |reason: String| KeysError::Address { address: address.to_owned(), reason };
        let url: Url = address.parse().map_err(|error| wrong(format!("is no address: {error}")))?;
        if url.scheme() == "http" && !is_local(&url) {
            return Err(wrong("must be https: whoever sends the keys decides who gets in".into()));
        }
        // reqwest is built without a provider of its own; one may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect could lead away from https.
        let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
        let client = client.map_err(|error| wrong(format!("cannot be asked: {error}")))?;
        Ok(Self { url, client })
    }

    pub(super) fn shown(&self) -> &str {
        self.url.as_str()
    }

    pub(super) async fn fetch(&self) -> Result<Vec<u8>, KeysError> {
        let wrong = |reason: String| KeysError::Format { from: self.shown().to_owned(), reason };
        let failed = |error: reqwest::Error| wrong(error.without_url().to_string());
        let response = self.client.get(self.url.clone()).send().await.map_err(failed)?;
        let mut response = response.error_for_status().map_err(failed)?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if text.len() + chunk.len() > MOST {
                return Err(wrong("it is larger than 1 MiB".to_owned()));
            }
            text.extend_from_slice(&chunk);
        }
        Ok(text)
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
