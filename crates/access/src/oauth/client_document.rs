//! Client id metadata documents: fetched from the URL that is the client's id, never from a private address, and cached.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client as HttpClient, Url, redirect::Policy};
use switchboard_egress::{PublicResolver, is_public};
use tokio::{sync::Semaphore, time::Instant};

use super::{Client, OAuthError, client::ClientMetadata, redirect::is_loopback};

/// How long a document may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How large it may be.
const MOST: usize = 64 << 10;
/// How long it is cached, and how long a failure is.
const FRESH: Duration = Duration::from_secs(10 * 60);
const FAILED: Duration = Duration::from_secs(10);
/// How many are cached.
const CACHED: usize = 200;
/// How many are fetched at once.
const AT_ONCE: usize = 4;

/// Fetches and caches documents.
pub(super) struct ClientDocuments {
    /// Whether private addresses are allowed.
    private: bool,
    http: Option<HttpClient>,
    cached: Mutex<HashMap<String, CachedDocument>>,
    fetching: Semaphore,
}

struct CachedDocument {
    client: Result<Client, OAuthError>,
    until: Instant,
}

impl ClientDocuments {
    pub(super) fn new(private: bool) -> Self {
        // reqwest is built without a crypto provider; one may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A proxy would resolve names itself, and a redirect could lead to a private address.
        let http = HttpClient::builder().timeout(TIMEOUT).redirect(Policy::none()).no_proxy();
        let http = match private {
            true => http,
            false => http.dns_resolver(Arc::new(PublicResolver)),
        };
        let http = http.build().inspect_err(|error| {
            tracing::warn!(%error, "metadata documents of clients cannot be fetched");
        });
        Self {
            private,
            http: http.ok(),
            cached: Mutex::default(),
            fetching: Semaphore::new(AT_ONCE),
        }
    }

    /// Returns the client whose document is at `id`.
    pub(super) async fn client(&self, id: &str) -> Result<Client, OAuthError> {
        let url = self.checked(id)?;
        if let Some(known) = self.cached(id) {
            return known;
        }
        let busy = || OAuthError::unavailable("too many clients are looked up at once");
        let _permit = self.fetching.try_acquire().map_err(|_| busy())?;
        let client = match self.fetch(url).await {
            Ok(text) => read(id, &text),
            Err(error) => Err(invalid(&error)),
        };
        let life = if client.is_ok() { FRESH } else { FAILED };
        let now = Instant::now();
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|_, document| document.until > now);
        if cached.len() >= CACHED {
            cached.clear();
        }
        let document = CachedDocument { client: client.clone(), until: now + life };
        cached.insert(id.to_owned(), document);
        client
    }

    fn cached(&self, id: &str) -> Option<Result<Client, OAuthError>> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cached.get(id).filter(|document| document.until > Instant::now());
        known.map(|document| document.client.clone())
    }

    /// Checks the URL itself.
    fn checked(&self, id: &str) -> Result<Url, OAuthError> {
        let url: Url = id.parse().map_err(|_| invalid("its id is not a URL"))?;
        let is_plain = url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() != "/"
            // As it stands there: without dot segments, a default port or capitals in the host.
            && url.as_str() == id;
        if !is_plain {
            return Err(invalid("its id is not a plain URL with a path"));
        }
        let bare = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_allowed = match (url.scheme(), bare.parse::<IpAddr>()) {
            ("http", _) => self.private && is_loopback(&url),
            // Addresses are not resolved, so they are checked here.
            ("https", Ok(address)) => self.private || is_public(address),
            ("https", Err(_)) => true,
            _ => false,
        };
        match is_allowed {
            true => Ok(url),
            false => Err(invalid("its id is not https, or is on a private address")),
        }
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, String> {
        let http = self.http.as_ref().ok_or("it cannot be requested")?;
        let failed = |error: reqwest::Error| chain(&error);
        let request = http.get(url).header("accept", "application/json");
        let mut response = request.send().await.map_err(failed)?;
        if response.status() != 200 {
            return Err(format!("its server says {}", response.status()));
        }
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if text.len() + chunk.len() > MOST {
                return Err("it is larger than 64 KiB".to_owned());
            }
            text.extend_from_slice(&chunk);
        }
        Ok(text)
    }
}

fn read(id: &str, text: &[u8]) -> Result<Client, OAuthError> {
    let metadata = ClientMetadata::read(text)?;
    if metadata.client_id.as_deref() != Some(id) {
        return Err(invalid("it is of another client: its `client_id` differs"));
    }
    let is_secret = |method: &String| method.starts_with("client_secret");
    if metadata.token_endpoint_auth_method.as_ref().is_some_and(is_secret) {
        return Err(invalid("a client with a public document has no secret"));
    }
    metadata.into_client(id.to_owned())
}

fn invalid(reason: &str) -> OAuthError {
    OAuthError::new(
        "invalid_client",
        format!("the client's metadata document is not usable: {reason}"),
    )
}

/// Returns the error with its causes.
fn chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "it took too long".to_owned()
    } else {
        "it cannot be fetched".to_owned()
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
