//! Where `search_web` searches.

use std::{fmt, time::Duration};

use reqwest::Url;
use serde::{Deserialize, Deserializer, de::Error};
use switchboard_toolcall::HumanDuration;

/// Where `search_web` searches.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Who searches.
    pub provider: SearchProvider,
    /// The provider's root address; needed by `searxng`, known for the others.
    pub url: Option<String>,
    /// The provider's key; needed by `brave`, and of no use to the others.
    pub api_key: Option<ApiKey>,
    /// How long the provider may take; 10 s by default.
    pub timeout: Option<HumanDuration>,
}

/// Who searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// A SearXNG instance whose `search.formats` include `json`.
    SearXng,
    /// The Brave Web Search API.
    Brave,
    /// DuckDuckGo's instant answers, or an endpoint that answers like them.
    DuckDuckGo,
}

/// An API key, hidden from `Debug` and logs.
#[derive(Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// Keeps `key`.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, for the request.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl Config {
    /// Reads settings that are complete: a wrong one is an error where it stands, not at the first call.
    pub(crate) fn checked<'de, D>(deserializer: D) -> Result<Option<Self>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let config = Self::deserialize(deserializer)?;
        config.root().map_err(D::Error::custom)?;
        config.check_key().map_err(D::Error::custom)?;
        Ok(Some(config))
    }

    /// The provider's root address.
    pub(super) fn root(&self) -> Result<Url, String> {
        let url = match (&self.url, self.provider) {
            (Some(url), _) => url,
            (None, SearchProvider::Brave) => "https://api.search.brave.com",
            (None, SearchProvider::DuckDuckGo) => "https://api.duckduckgo.com",
            (None, SearchProvider::SearXng) => {
                return Err("searxng needs `url`, the address of the instance".to_owned());
            }
        };
        // The address may hold a password, so it is not repeated.
        let wrong = || "`url` is not an http or https address".to_owned();
        let url = Url::parse(url).map_err(|_| wrong())?;
        match (url.scheme(), url.has_host()) {
            ("http" | "https", true) => Ok(url),
            _ => Err(wrong()),
        }
    }

    /// Returns the provider's URL for `path`, below the root even if that has a path of its own.
    pub(super) fn endpoint(&self, path: &str) -> Result<Url, String> {
        let mut url = self.root()?;
        let below = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&below);
        Ok(url)
    }

    /// The provider as people know it, with the host.
    pub(super) fn service(&self) -> String {
        let name = match self.provider {
            SearchProvider::SearXng => "SearXNG",
            SearchProvider::Brave => "Brave Search",
            SearchProvider::DuckDuckGo => "DuckDuckGo",
        };
        let root = self.root().ok();
        match root.as_ref().and_then(|root| Some((root.host_str()?, root.port()))) {
            Some((host, Some(port))) => format!("{name} at {host}:{port}"),
            Some((host, None)) => format!("{name} at {host}"),
            None => name.to_owned(),
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout.map_or(Duration::from_secs(10), |HumanDuration(timeout)| timeout)
    }

    fn check_key(&self) -> Result<(), &'static str> {
        let key = self.api_key.as_ref().filter(|key| !key.0.trim().is_empty());
        match (self.provider, key) {
            (SearchProvider::Brave, None) => Err("brave needs `api_key`"),
            (SearchProvider::SearXng | SearchProvider::DuckDuckGo, Some(_)) => {
                Err("`api_key` is only for brave")
            }
            _ => Ok(()),
        }
    }
}
