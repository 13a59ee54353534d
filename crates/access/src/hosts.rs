//! Rejects requests that foreign pages make a browser send, by Origin and Host (SPEC GW-2).
//!
//! A page on the internet can make a browser request 127.0.0.1, and can make its own host name resolve to it.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request, uri::Authority};

use crate::{Config, Rejection};

/// The header by which our own page shows that the request is not from a form or a link of another.
const OWN_PAGE: &str = "x-switchboard";

/// The headers in which a browser says where a request comes from, and what it is for.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Our host names.
pub(crate) struct Hosts {
    address: SocketAddr,
    names: Vec<String>,
    origins: Vec<String>,
    /// Our URL behind a proxy.
    public: Option<String>,
    /// The `Host` of most local clients; compared without being parsed.
    usual: [String; 2],
}

impl Hosts {
    pub(crate) fn new(config: &Config, address: SocketAddr) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect();
        let public = config.public_url.as_deref();
        let public = public.map(|url| url.trim_end_matches('/').to_lowercase());
        let port = address.port();
        let usual = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Self {
            address,
            names: lower(&config.hosts),
            origins: lower(&config.origins),
            public,
            usual,
        }
    }

    /// Checks that host and origin are ours, or allowed by the settings.
    pub(crate) fn check(&self, request: &request::Parts) -> Result<(), Rejection> {
        if self.is_usual(request) {
            return Ok(());
        }
        self.check_origin(request)?;
        match is_elsewhere(&request.headers) {
            // Following a link from another site to our page sends no Origin either; see `check_visit`.
            true if !request.headers.contains_key(header::ORIGIN) => Err(Rejection::Forbidden(
                "pages of other sites may not call this gateway; `[serve] origins` lets them"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Like [`check`](Self::check), for a page that other sites may link to.
    pub(crate) fn check_visit(&self, request: &request::Parts) -> Result<(), Rejection> {
        let says = |name: &HeaderName, value: &str| {
            request.headers.get(name).is_some_and(|said| said == value)
        };
        match says(&MODE, "navigate") && says(&DESTINATION, "document") {
            true => self.check_origin(request),
            false => self.check(request),
        }
    }

    fn check_origin(&self, request: &request::Parts) -> Result<(), Rejection> {
        let host = host(&request.headers, &request.uri)?;
        if !self.is_own(&host) {
            let text = format!("`{host}` is not a name of this gateway; `[serve] hosts` adds one");
            return Err(Rejection::Forbidden(text));
        }
        let Some(origin) = request.headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = String::from_utf8_lossy(origin.as_bytes()).to_lowercase();
        if self.origins.contains(&origin) || self.is_own_origin(&origin, &host) {
            return Ok(());
        }
        let text =
            format!("pages of `{origin}` may not call this gateway; `[serve] origins` lets them");
        Err(Rejection::Forbidden(text))
    }

    /// Returns whether the request looks like one of a local program, without a page.
    fn is_usual(&self, request: &request::Parts) -> bool {
        let host = request.headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
        self.usual.iter().any(|usual| usual.as_bytes() == host)
            && request.uri.authority().is_none()
            && !request.headers.contains_key(header::ORIGIN)
            // A browser always sends an Origin with a POST.
            && (request.method == Method::POST || !request.headers.contains_key(&SITE))
    }

    /// Checks that the request comes from our own page, as one with a cookie must. A request that changes something
    /// also needs a header that no form or link can send.
    pub(crate) fn check_own_page(&self, request: &request::Parts) -> Result<(), Rejection> {
        let headers = &request.headers;
        let host = host(headers, &request.uri)?;
        let origin = headers.get(header::ORIGIN);
        let origin = origin.map(|origin| String::from_utf8_lossy(origin.as_bytes()).to_lowercase());
        let site = headers.get(&SITE).map(HeaderValue::as_bytes);
        let is_own = origin.as_ref().is_none_or(|origin| self.is_own_origin(origin, &host))
            && !is_elsewhere(headers);
        if !is_own {
            let text = "a session counts only for the console's own page; others send a token";
            return Err(Rejection::Forbidden(text.to_owned()));
        }
        let is_said = headers.get(OWN_PAGE).is_some_and(|said| said == "console");
        let is_known = origin.is_some() || site == Some(b"same-origin");
        let is_meant = request.method.is_safe() || is_said && is_known;
        if !is_meant {
            let text = "with a session, what changes something needs the headers `X-Switchboard: console` and `Origin`";
            return Err(Rejection::Forbidden(text.to_owned()));
        }
        Ok(())
    }

    /// Checks that a form was sent by a page of ours, as browsers say of every form.
    pub(crate) fn check_own_form(&self, request: &request::Parts) -> Result<(), Rejection> {
        let headers = &request.headers;
        let host = host(headers, &request.uri)?;
        let origin = headers.get(header::ORIGIN);
        let origin = origin.map(|origin| String::from_utf8_lossy(origin.as_bytes()).to_lowercase());
        let is_own = origin.is_some_and(|origin| self.is_own_origin(&origin, &host));
        match is_own && !is_elsewhere(headers) {
            true => Ok(()),
            false => Err(Rejection::Forbidden(
                "only a page of this gateway may send this form".to_owned(),
            )),
        }
    }

    /// Returns the origin of a foreign page that the settings allow.
    pub(crate) fn foreign_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = String::from_utf8_lossy(origin.as_bytes()).to_lowercase();
        self.origins.contains(&text).then_some(origin)
    }

    /// Returns whether a page of this origin came from us, directly or through the configured proxy.
    fn is_own_origin(&self, origin: &str, host: &Authority) -> bool {
        is_origin_of(origin, host) || self.public.as_deref() == Some(origin)
    }

    /// Returns whether the host may be ours.
    fn is_own(&self, host: &Authority) -> bool {
        let name = host.host().to_lowercase();
        if self.names.iter().any(|own| *own == name || *own == host.as_str().to_lowercase()) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // A name can be made to resolve to us; an address cannot.
            Ok(ip) => ip.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => name == "localhost",
        }
    }
}

/// Returns whether the browser says that a page of another site, or of another port of this host, made the request.
fn is_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get(&SITE).map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

/// Returns the host that the client requested.
pub(crate) fn host(headers: &HeaderMap, uri: &Uri) -> Result<Authority, Rejection> {
    if let Some(authority) = uri.authority() {
        return Ok(authority.clone());
    }
    let missing =
        || Rejection::BadRequest("the request has no Host header that can be read".to_owned());
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).ok_or_else(missing)?;
    host.parse().map_err(|_| missing())
}

/// Returns whether the origin has exactly this host and port.
fn is_origin_of(origin: &str, host: &Authority) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(default);
    authority.host().eq_ignore_ascii_case(host.host()) && port(&authority) == port(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, host: &str, origin: Option<&str>) -> Option<u16> {
        let config = Config {
            hosts: vec!["box.lan".to_owned()],
            origins: vec!["https://app.example".to_owned()],
            public_url: Some("https://tools.example/".to_owned()),
            ..Config::default()
        };
        let hosts = Hosts::new(&config, listen.parse().unwrap());
        let mut request = http::Request::get("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        hosts.check(&parts).err().map(|refusal| refusal.status().as_u16())
    }

    // GW-2
    #[test]
    fn foreign_hosts_and_pages_stay_out() {
        let (local, open) = ("127.0.0.1:7300", "0.0.0.0:7300");
        for host in ["localhost:7300", "127.0.0.1:7300", "[::1]:7300", "LOCALHOST", "box.lan:7300"]
        {
            assert_eq!(check(local, host, None), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:7300", "192.168.1.5:7300"] {
            assert_eq!(check(local, host, None), Some(403), "{host}");
        }
        assert_eq!(check(open, "192.168.1.5:7300", None), None);
        assert_eq!(check(open, "evil.example:7300", None), Some(403));
        assert_eq!(check(local, "bad host", None), Some(400));

        let own = "localhost:7300";
        for origin in ["http://localhost:7300", "https://app.example", "https://tools.example"] {
            assert_eq!(check(local, own, Some(origin)), None, "{origin}");
        }
        for origin in ["null", "https://evil.example", "http://localhost:9999", "file://", ""] {
            assert_eq!(check(local, own, Some(origin)), Some(403), "{origin}");
        }
        assert_eq!(check(local, "localhost", Some("http://localhost")), None, "default ports");
    }

    // GW-2
    #[test]
    fn browsers_may_be_led_to_the_page_and_to_nothing_else() {
        let config =
            Config { origins: vec!["https://app.example".to_owned()], ..Config::default() };
        let hosts = Hosts::new(&config, "127.0.0.1:7300".parse().unwrap());
        // Whether a request is let in to what is behind the page, and to the page.
        let check = |headers: &[(&str, &str)]| {
            let mut request = http::Request::get("/").header("host", "localhost:7300");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            (hosts.check(&parts).is_ok(), hosts.check_visit(&parts).is_ok())
        };
        for (site, expected) in [
            ("same-origin", (true, true)),
            ("none", (true, true)),
            ("same-site", (false, false)),
            ("cross-site", (false, false)),
            ("", (false, false)),
        ] {
            assert_eq!(check(&[("sec-fetch-site", site)]), expected, "{site}");
        }
        let cross = ("sec-fetch-site", "cross-site");
        let navigates = ("sec-fetch-mode", "navigate");
        assert_eq!(check(&[cross, navigates, ("sec-fetch-dest", "document")]), (false, true));
        assert_eq!(check(&[cross, navigates, ("sec-fetch-dest", "iframe")]), (false, false));
        assert_eq!(check(&[cross, ("sec-fetch-mode", "no-cors")]), (false, false));
        assert_eq!(check(&[cross, ("origin", "https://app.example")]), (true, true));
        assert_eq!(check(&[cross, ("origin", "https://evil.example")]), (false, false));
    }
}
