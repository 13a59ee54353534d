//! The settings of a server behind HTTP.

use std::{fmt, path::PathBuf, time::Duration};

use url::Url;

use super::Proxies;

/// How a server is reached over HTTP.
#[derive(Clone)]
pub struct HttpConfig {
    /// Its address, `http` or `https`.
    pub url: String,
    /// The Unix socket that it listens on, in place of the address in `url`.
    pub socket: Option<PathBuf>,
    /// Headers of every request; never logged.
    pub headers: Vec<(String, String)>,
    /// How long a connection may take to stand, TLS included.
    pub connect_timeout: Duration,
    /// Which proxy it is behind, if any.
    pub proxies: Proxies,
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
            max_message: 64 << 20,
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses and headers may hold credentials.
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HttpConfig").field("headers", &names).finish_non_exhaustive()
    }
}

/// Settings with which no server can be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The address is none of HTTP's.
    #[error("`url` is not an http or https address: {0}")]
    Url(String),
    /// A header that cannot be sent. Its value stays unsaid.
    #[error("header `{0}` has a name or a value that cannot be sent")]
    Header(String),
    /// A proxy that we cannot speak to.
    #[error("the proxy `{0}` cannot be used: proxies are `http://…` or `socks5://…`")]
    Proxy(String),
    /// There is nothing to check certificates with.
    #[error("TLS cannot be used")]
    Tls(#[source] rustls::Error),
}

impl HttpConfig {
    /// The address, checked, and without what is for nobody's eyes.
    pub(crate) fn url(&self) -> Result<Url, ConfigError> {
        let url = Url::parse(&self.url).map_err(|error| ConfigError::Url(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(ConfigError::Url(format!("its scheme is `{other}`"))),
        }
    }
}
