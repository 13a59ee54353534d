//! One POST to a provider: the head within bounds, the body in pieces, failures in words without keys.

use std::{future::Future, sync::OnceLock, time::Duration};

use bytes::Bytes;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{FailureKind, ModelConfig, ModelError, Provider, Secret, client, images, json, retry};

/// The most bytes of one answer: far beyond any turn, short of what hurts.
pub(crate) const LARGEST: usize = 128 << 20;

/// How much of a refusal is read, and shown.
const REFUSAL: usize = 64 << 10;
const SHOWN: usize = 600;

/// Where and how one model is reached.
pub(crate) struct ProviderEndpoint {
    provider: Provider,
    url: Url,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    client: OnceLock<Client>,
}

impl ProviderEndpoint {
    /// The endpoint at `path` below the config's address. `credentials` are headers with the key.
    pub(crate) fn new(
        config: &ModelConfig,
        path: &str,
        credentials: Vec<(&'static str, String)>,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        let own =
            config.headers.iter().map(|(name, value)| (name.as_str(), value.reveal().to_owned()));
        for (name, value) in credentials.into_iter().chain(own) {
            let unusable =
                || settings(format!("header `{name}` cannot be sent; is the key right?"));
            let mut value = HeaderValue::from_str(&value).map_err(|_| unusable())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name).map_err(|_| unusable())?, value);
        }
        let secrets = config.api_key.iter().chain(config.headers.values()).cloned().collect();
        Ok(Self {
            provider: config.provider,
            url: address(config, path)?,
            headers,
            secrets,
            connect_timeout: config.connect_timeout(),
            idle_timeout: config.idle_timeout(),
            client: OnceLock::new(),
        })
    }

    /// Sends a request; an answer that is no success is an error with what the provider said.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<ResponseBody, ModelError> {
        let request = self.client()?.post(self.url.clone()).body(body);
        self.send(request.header("content-type", "application/json")).await
    }

    /// Asks for what is there.
    pub(crate) async fn get(&self) -> Result<ResponseBody, ModelError> {
        self.send(self.client()?.get(self.url.clone())).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<ResponseBody, ModelError> {
        let request = request.headers(self.headers.clone());
        let sent = patient(self.idle_timeout, request.send()).await?;
        let response = sent.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() {
            return Ok(ResponseBody { response, idle_timeout: self.idle_timeout, read: 0 });
        }
        Err(self.refused(response).await)
    }

    /// The client, made at the first question: loading certificates takes longer than starting up should.
    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client(&self.url, self.connect_timeout).map_err(|error| {
            ModelError::new(FailureKind::Config, "HTTP cannot be used").caused_by(error)
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    fn unreachable(&self, error: reqwest::Error) -> ModelError {
        let error = error.without_url();
        let place = place(&self.url);
        let (kind, text) = if error.is_connect() || error.is_timeout() {
            let hint = self.provider.info().unreachable_hint;
            (FailureKind::Connect, format!("could not reach {} at {place}{hint}", self.provider))
        } else {
            (FailureKind::Cut, format!("the connection to {} at {place} broke", self.provider))
        };
        ModelError::new(kind, text).caused_by(error)
    }

    async fn refused(&self, mut response: Response) -> ModelError {
        let status = response.status();
        let retry_after = retry::retry_after(response.headers());
        let mut bytes = Vec::new();
        while bytes.len() < REFUSAL
            && let Ok(Ok(Some(chunk))) = timeout(Duration::from_secs(5), response.chunk()).await
        {
            bytes.extend_from_slice(&chunk);
        }
        let said =
            serde_json::from_slice::<Value>(&bytes).ok().and_then(|body| json::error_text(&body));
        let said = said.unwrap_or_else(|| String::from_utf8_lossy(&bytes).trim().to_owned());
        let mut error = ModelError::new(kind(status, &said), self.sentence(status, &said));
        error.status = Some(status.as_u16());
        error.retry_after = retry_after;
        error
    }

    fn sentence(&self, status: StatusCode, said: &str) -> String {
        let mut said: String = said.chars().take(SHOWN).collect();
        // Providers quote keys that they do not know.
        for secret in self.secrets.iter().filter(|secret| !secret.reveal().is_empty()) {
            said = said.replace(secret.reveal(), "…");
        }
        let separator = if said.is_empty() { "" } else { ": " };
        format!("{} answered {}{separator}{said}", self.provider, status.as_u16())
    }
}

/// A body that comes in pieces.
pub(crate) struct ResponseBody {
    response: Response,
    idle_timeout: Duration,
    read: usize,
}

impl ResponseBody {
    /// What the content type says, parameters aside.
    pub(crate) fn content_type(&self) -> &str {
        let value = self.response.headers().get("content-type");
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
    }

    /// The next piece, or none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let next = patient(self.idle_timeout, self.response.chunk()).await?.map_err(|error| {
            let text = "the connection ended in the middle of the answer";
            ModelError::new(FailureKind::Cut, text).caused_by(error.without_url())
        })?;
        self.read += next.as_ref().map_or(0, Bytes::len);
        if self.read > LARGEST {
            let text = format!("the answer has more than {LARGEST} bytes");
            return Err(ModelError::new(FailureKind::Unreadable, text));
        }
        Ok(next)
    }

    /// All of it.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// Waits for a provider, but not for ever.
async fn patient<F: Future>(limit: Duration, waiting: F) -> Result<F::Output, ModelError> {
    timeout(limit, waiting).await.map_err(|_| {
        let text = format!("the model was silent for {} s (`idle_timeout`)", limit.as_secs_f32());
        ModelError::new(FailureKind::Timeout, text)
    })
}

/// Returns the kind of an error response, by its status, or by its text if the status says little.
pub(crate) fn kind(status: StatusCode, said: &str) -> FailureKind {
    let said = said.to_lowercase();
    match status.as_u16() {
        401 | 403 => FailureKind::Auth,
        429 if said.contains("insufficient_quota") => FailureKind::Rejected,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        400 | 413 | 422 | 500 if is_context_full(&said) => FailureKind::ContextFull,
        413 => FailureKind::ContextFull,
        500 if is_broken_call(&said) => FailureKind::BrokenCall,
        // llama.cpp's word for an image that its model cannot see; it will say the same again.
        500 if images::is_refusal(&said) => FailureKind::Rejected,
        500.. => FailureKind::Server,
        _ => FailureKind::Rejected,
    }
}

/// What a failure means that came after the status said success: by its words.
pub(crate) fn late_kind(said: &str) -> FailureKind {
    let said = said.to_lowercase();
    if is_broken_call(&said) {
        FailureKind::BrokenCall
    } else if is_context_full(&said) {
        FailureKind::ContextFull
    } else if said.contains("overloaded") || said.contains("slow_down") {
        FailureKind::Overloaded
    } else if said.contains("rate_limit") || said.contains("rate limit") {
        FailureKind::RateLimited
    } else if images::is_refusal(&said)
        || said.contains("invalid_request")
        || said.contains("authentication")
        || said.contains("permission")
    {
        FailureKind::Rejected
    } else {
        FailureKind::Server
    }
}

fn is_broken_call(said: &str) -> bool {
    said.contains("parsing tool call") || said.contains("parse tool call")
}

fn is_context_full(said: &str) -> bool {
    let signs = [
        "context_length",
        "context length",
        "context size",
        "context window",
        "prompt is too long",
        "input length exceeds",
        "exceeds the available context",
        "exceed_context",
        "exceed context limit",
        "maximum model length",
        "maximum number of tokens allowed",
        "too long for requested model",
    ];
    signs.iter().any(|sign| said.contains(sign))
}

/// The key as most providers want it.
pub(crate) fn bearer(config: &ModelConfig) -> Vec<(&'static str, String)> {
    let key = config.api_key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
    key.into_iter().map(|key| ("authorization", key)).collect()
}

fn address(config: &ModelConfig, path: &str) -> Result<Url, ModelError> {
    let given = config.base_url().trim();
    let scheme = if given.contains("://") { "" } else { "http://" };
    let unusable = |error| settings(format!("`base_url` is not an address: {error}"));
    Url::parse(&format!("{scheme}{given}")).map_err(unusable)?;
    let given = given.trim_end_matches('/');
    // What people write from habit; the contract says the root.
    let redundant = config.provider.info().redundant_path.unwrap_or_default();
    let root = given.strip_suffix(redundant).unwrap_or(given);
    let url = Url::parse(&format!("{scheme}{root}{path}")).map_err(unusable)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(settings(format!("`base_url` is not an http or https address but `{other}`"))),
    }
}

fn settings(text: String) -> ModelError {
    ModelError::new(FailureKind::Config, text)
}

/// The address for people: without what may be a password.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    // ML-7
    #[tokio::test(start_paused = true)]
    async fn silence_ends_when_it_should() {
        let start = Instant::now();
        let limit = Duration::from_secs(300);
        let error = patient(limit, std::future::pending::<()>()).await.unwrap_err();
        assert_eq!((error.kind, start.elapsed()), (FailureKind::Timeout, limit));
        assert!(error.message.contains("300 s"), "{error}");
        assert!(patient(limit, tokio::time::sleep(limit / 2)).await.is_ok());
    }
}
