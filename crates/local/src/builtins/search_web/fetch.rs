//! Asking a provider over HTTP, within bounds.

use std::sync::OnceLock;

use reqwest::{Client, RequestBuilder, Response, Url, redirect};
use serde::de::DeserializeOwned;
use switchboard_toolcall::ToolError;

use super::{Config, failure::SearchFailure};

/// What a provider may send; their answers are a tenth of it.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// Asks one provider.
pub(super) struct Fetcher {
    pub(super) config: Config,
    client: OnceLock<Client>,
}

impl Fetcher {
    pub(super) fn new(config: Config) -> Self {
        let client = OnceLock::new();
        Self { config, client }
    }

    /// Asks for `path` below the provider's root; `prepare` adds what else the request needs.
    ///
    /// # Errors
    /// Says what went wrong in the words of the provider at hand, never with the key.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        prepare: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, ToolError> {
        let answer = self.fetch(path, query, prepare).await;
        answer.map_err(|failure| failure.explain(&self.config))
    }

    async fn fetch<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        prepare: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, SearchFailure> {
        let url = self.config.endpoint(path).map_err(SearchFailure::Settings)?;
        let request = self.client()?.get(url).query(query).timeout(self.config.timeout());
        let response = prepare(request).send().await.map_err(SearchFailure::network)?;
        let status = response.status();
        let retry_after = header(&response, "retry-after");
        let body = read(response).await;
        if !status.is_success() {
            let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
            return Err(SearchFailure::Status { status, retry_after, body });
        }
        let body = body?;
        serde_json::from_slice(&body).map_err(|error| SearchFailure::not_json(&body, error))
    }

    /// The client, made at the first search: loading certificates takes longer than starting up should.
    fn client(&self) -> Result<&Client, SearchFailure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails if the host has installed a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::custom(follow))
            .build()
            .map_err(SearchFailure::network)?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Follows a few redirects on the same host: other hosts must not see the key.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    const MAX_REDIRECTS: usize = 3;
    let before = attempt.previous();
    let stays = before.last().is_some_and(|from| is_same_place(from, attempt.url()));
    if stays && before.len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

fn is_same_place(from: &Url, to: &Url) -> bool {
    let upgraded = from.scheme() == "http" && to.scheme() == "https";
    let same_port = from.port_or_known_default() == to.port_or_known_default();
    from.host() == to.host() && (upgraded || (from.scheme() == to.scheme() && same_port))
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Reads the body, as far as it may go.
async fn read(mut response: Response) -> Result<Vec<u8>, SearchFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(SearchFailure::broken_off)? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(SearchFailure::TooLong(MAX_BODY));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
