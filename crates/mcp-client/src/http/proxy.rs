//! Proxies: which one a server is behind, and what requests through it need.

use std::{fmt, sync::Arc};

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use url::{Host, Position, Url};

use super::HttpConfigError;

/// The default port of SOCKS proxies.
const SOCKS_PORT: u16 = 1080;

/// Selects the proxy for a server. By default from the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`,
/// `NO_PROXY`), or else from the system's settings.
#[derive(Clone, Default)]
pub struct Proxies(Option<Arc<Matcher>>);

impl Proxies {
    /// Uses one proxy for all servers, except for those that `no` lists in the format of `NO_PROXY`.
    pub fn all(proxy: &str, no: &str) -> Self {
        Self(Some(Arc::new(Matcher::builder().all(proxy).no(no).build())))
    }

    /// Returns the proxy for the server at `url`; `None` for servers on this machine.
    pub(super) fn find(&self, url: &Url) -> Result<Option<Proxy>, HttpConfigError> {
        if is_here(url) {
            return Ok(None);
        }
        let Ok(uri) = url.as_str().parse() else { return Ok(None) };
        let found = match &self.0 {
            Some(matcher) => matcher.intercept(&uri),
            None => Matcher::from_system().intercept(&uri),
        };
        found.as_ref().map(Proxy::new).transpose()
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs of proxies may hold passwords.
        f.write_str("Proxies")
    }
}

/// A proxy, and how we authenticate there.
pub(super) enum Proxy {
    /// An HTTP proxy, with its `Proxy-Authorization`.
    Http(Uri, Option<HeaderValue>),
    /// A SOCKS 5 proxy, with user and password. It also resolves the names of servers.
    Socks(Uri, Option<(String, String)>),
}

impl Proxy {
    fn new(found: &Intercept) -> Result<Self, HttpConfigError> {
        let uri = found.uri();
        match uri.scheme_str() {
            Some("http") => Ok(Self::Http(uri.clone(), found.basic_auth().cloned())),
            Some("socks5" | "socks5h") => {
                let auth = found.raw_auth().map(|(user, word)| (user.to_owned(), word.to_owned()));
                Ok(Self::Socks(with_port(uri)?, auth))
            }
            _ => Err(HttpConfigError::Proxy(uri.to_string())),
        }
    }
}

/// What a request needs so that an HTTP proxy forwards it. Only plain HTTP is forwarded; TLS goes through a tunnel.
pub(super) struct Forward {
    /// The scheme and the host, which precede the path in the request target.
    pub(super) origin: String,
    pub(super) auth: Option<HeaderValue>,
}

impl Forward {
    /// Returns what requests to `url` through `proxy` need; `None` unless they are forwarded.
    pub(super) fn through(proxy: Option<&Proxy>, url: &Url) -> Option<Self> {
        match proxy {
            Some(Proxy::Http(_, auth)) if url.scheme() == "http" => {
                let origin = format!("http://{}", &url[Position::BeforeHost..Position::AfterPort]);
                Some(Self { origin, auth: auth.clone() })
            }
            _ => None,
        }
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        None => true,
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
    }
}

fn with_port(uri: &Uri) -> Result<Uri, HttpConfigError> {
    if uri.port().is_some() {
        return Ok(uri.clone());
    }
    let unusable = || HttpConfigError::Proxy(uri.to_string());
    let host = uri.host().ok_or_else(unusable)?;
    format!("socks5://{host}:{SOCKS_PORT}").parse().map_err(|_| unusable())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(proxy: &str, no: &str, url: &str) -> String {
        let url = url.parse().unwrap();
        let found = match Proxies::all(proxy, no).find(&url) {
            Ok(found) => found,
            Err(error) => return error.to_string(),
        };
        let forward = Forward::through(found.as_ref(), &url);
        let forward = forward.map_or(String::new(), |forward| format!(", {}", forward.origin));
        match found {
            None => "direct".to_owned(),
            Some(Proxy::Http(uri, auth)) => format!("{uri} {auth:?}{forward}"),
            Some(Proxy::Socks(uri, auth)) => format!("{uri} {auth:?}{forward}"),
        }
    }

    // MC-1
    #[test]
    fn a_proxy_is_spoken_to_in_its_own_way() {
        let plain = "http://a:b@tools.example:81/mcp?x";
        let tls = "https://tools.example/mcp";
        for (proxy, url, expected) in [
            ("http://proxy:3128", plain, "http://proxy:3128/ None, http://tools.example:81"),
            ("proxy:3128", tls, "http://proxy:3128/ None"),
            ("http://ada:x@proxy", tls, "http://proxy/ Some(Sensitive)"),
            ("socks5://proxy:9", plain, "socks5://proxy:9/ None"),
            ("socks5h://ada:x%40@proxy", tls, "socks5://proxy:1080/ Some((\"ada\", \"x@\"))"),
            ("http://proxy", "http://127.0.0.1:81/mcp", "direct"),
            ("http://proxy", "https://[::1]/mcp", "direct"),
            ("http://proxy", "http://app.localhost/mcp", "direct"),
            ("http://proxy", "http://sub.internal.example/mcp", "direct"),
            ("http://proxy", "http://10.1.2.3/mcp", "direct"),
        ] {
            let no = "internal.example, 10.0.0.0/8";
            assert_eq!(found(proxy, no, url), expected, "{proxy} {url}");
        }
    }

    // MC-1
    #[test]
    fn a_proxy_that_we_cannot_speak_to_is_refused_without_its_password() {
        for proxy in ["https://ada:secret@proxy", "socks4://ada:secret@proxy", "socks4a://proxy"] {
            let error = found(proxy, "", "http://tools.example/mcp");
            assert!(error.contains("proxy") && error.contains("socks5"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
