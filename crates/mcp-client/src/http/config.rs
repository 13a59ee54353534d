//! The settings of a server behind HTTP.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use switchboard_oauth::Authorizer;
use url::Url;

use super::Proxies;

/// How a server is reached over HTTP.
#[derive(Clone)]
pub struct HttpConfig {
    /// Its URL, `http` or `https`.
    pub url: String,
    /// The Unix socket to connect to, instead of the host in `url`.
    pub socket: Option<PathBuf>,
    /// Headers of every request; never logged.
    pub headers: Vec<(String, String)>,
    /// How long opening a connection may take, TLS included.
    pub connect_timeout: Duration,
    /// The proxies.
    pub proxies: Proxies,
    /// Provides the token that requests carry, unless the settings have an `Authorization` header.
    pub authorizer: Option<Arc<Authorizer>>,
    /// The most bytes that one message may have.
    pub max_message: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            url: String::new(),
            socket: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            proxies: Proxies::default(),
            authorizer: None,
            max_message: 64 << 20,
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs and headers may hold credentials.
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HttpConfig").field("headers", &names).finish_non_exhaustive()
    }
}

/// Settings that no server can be reached with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpConfigError {
    /// The URL is not `http` or `https`.
    #[error("`url` is not an http or https address: {0}")]
    Url(String),
    /// A header cannot be sent. Its value is not shown.
    #[error("header `{0}` has a name or a value that cannot be sent")]
    Header(String),
    /// The proxy has an unsupported scheme.
    #[error("the proxy `{0}` cannot be used: proxies are `http://…` or `socks5://…`")]
    Proxy(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be used")]
    Tls(#[source] rustls::Error),
}

impl HttpConfig {
    /// Parses the URL, and checks that it is `http` or `https`.
    pub(crate) fn url(&self) -> Result<Url, HttpConfigError> {
        let url = Url::parse(&self.url).map_err(|error| HttpConfigError::Url(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(HttpConfigError::Url(format!("its scheme is `{other}`"))),
        }
    }
}
