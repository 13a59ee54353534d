//! Sends one HTTP request and returns the head of its answer.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{HOST, LOCATION, PROXY_AUTHORIZATION},
};
use http_body_util::Full;
use url::{Position, Url};

use super::{
    ConfigError, Proxies,
    connect::Connector,
    pool::{Answer, OutgoingRequest, Pool},
    proxy::Forward,
};
use crate::transport::Failure;

/// How many times one request may be sent elsewhere.
const REDIRECTS: usize = 3;

/// Sends requests to one server.
pub(crate) struct Engine {
    pool: Pool,
    url: Url,
    /// The path and what follows it; all requests go to one host.
    uri: Uri,
    host: HeaderValue,
    forward: Option<Forward>,
}

impl Engine {
    /// An engine for the server at `url`; opens nothing yet.
    pub(crate) fn new(
        url: Url,
        proxies: &Proxies,
        connect_timeout: Duration,
    ) -> Result<Self, ConfigError> {
        let proxy = proxies.find(&url)?;
        let forward = Forward::through(proxy.as_ref(), &url);
        let connector = Connector::new(&url, proxy, connect_timeout)?;
        Self::through(connector, url, forward)
    }

    /// As [`new`](Self::new), for a server that listens on a Unix socket.
    pub(crate) fn over_socket(
        url: Url,
        socket: &Path,
        connect_timeout: Duration,
    ) -> Result<Self, ConfigError> {
        Self::through(Connector::to_socket(socket, connect_timeout), url, None)
    }

    fn through(
        connector: Connector,
        url: Url,
        forward: Option<Forward>,
    ) -> Result<Self, ConfigError> {
        let unusable = || ConfigError::Url("it cannot be sent".to_owned());
        let origin = url[..Position::BeforePath].parse().map_err(|_| unusable())?;
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
        let (uri, host) = (path(&url).ok_or_else(unusable)?, host.map_err(|_| unusable())?);
        Ok(Self { pool: Pool::new(connector, origin), url, uri, host, forward })
    }

    /// Where the server's address points, on its host.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// What `reference` means to this server; none, where that is another server's.
    pub(crate) fn resolve(&self, reference: &str) -> Option<Uri> {
        let url = self.url.join(reference).ok()?;
        if url.origin() == self.url.origin() { path(&url) } else { None }
    }

    /// Sends a request, and again to where the same server redirects it. `own` stands for headers of the same name.
    ///
    /// An answer that points to another server is returned as it is: the credentials and the session in our
    /// headers are meant for this one.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: &HeaderMap,
        own: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Answer, Failure> {
        let (mut there, mut redirects) = (None, 0);
        loop {
            let mut request = OutgoingRequest::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = self.target(there.as_ref().unwrap_or(uri))?;
            *request.headers_mut() = self.headers(headers, own);
            let answer = self.pool.send(request).await?;
            match self.redirected(&method, &answer) {
                Some(next) if redirects < REDIRECTS => there = Some(next),
                _ => return Ok(answer),
            }
            redirects += 1;
        }
    }

    /// Returns what stands in the first line; a proxy that forwards must be told the host, too.
    fn target(&self, uri: &Uri) -> Result<Uri, Failure> {
        match &self.forward {
            None => Ok(uri.clone()),
            Some(forward) => format!("{}{uri}", forward.origin).parse().map_err(|error| {
                Failure::Lost(format!("the request cannot be sent to the proxy: {error}"))
            }),
        }
    }

    fn headers(&self, shared: &HeaderMap, own: &[(HeaderName, HeaderValue)]) -> HeaderMap {
        let mut headers = shared.clone();
        headers.entry(HOST).or_insert_with(|| self.host.clone());
        if let Some(auth) = self.forward.as_ref().and_then(|forward| forward.auth.as_ref()) {
            headers.insert(PROXY_AUTHORIZATION, auth.clone());
        }
        // All of one name are sent, and stand for those that were there.
        for (name, _) in own {
            headers.remove(name);
        }
        headers.extend(own.iter().cloned());
        headers
    }

    fn redirected(&self, method: &Method, answer: &Answer) -> Option<Uri> {
        let keeps_method = match answer.status() {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::GET,
            _ => false,
        };
        let location = answer.header(&LOCATION).filter(|_| keeps_method)?;
        self.resolve(str::from_utf8(location).ok()?)
    }
}

fn path(url: &Url) -> Option<Uri> {
    url[Position::BeforePath..Position::AfterQuery].parse().ok()
}
