//! Sends one HTTP request and returns the head of its response.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{HOST, LOCATION, PROXY_AUTHORIZATION, WWW_AUTHENTICATE},
};
use http_body_util::Full;
use switchboard_oauth::{Authorizer, Challenge, RequestAttempts, RequestToken};
use url::{Position, Url};

use super::{
    HttpConfigError, Proxies,
    connect::Connector,
    pool::{Pool, PoolRequest, PooledResponse},
    proxy::Forward,
};
use crate::transport::Failure;

/// How many redirects one request may follow.
const REDIRECTS: usize = 3;

/// The header of a nonce for the next proof of possession.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// A request: method, target, headers of all requests, its own headers, body.
type RequestParts<'a> = (Method, &'a Uri, &'a HeaderMap, &'a [(HeaderName, HeaderValue)], Bytes);

/// Sends requests to one server.
pub(crate) struct Engine {
    pool: Pool,
    url: Url,
    /// The path and query; all requests go to one host.
    uri: Uri,
    host: HeaderValue,
    forward: Option<Forward>,
    authorizer: Option<Arc<Authorizer>>,
}

impl Engine {
    /// Creates an engine for the server at `url`. Opens no connection yet.
    pub(crate) fn new(
        url: Url,
        proxies: &Proxies,
        connect_timeout: Duration,
    ) -> Result<Self, HttpConfigError> {
        let proxy = proxies.find(&url)?;
        let forward = Forward::through(proxy.as_ref(), &url);
        let connector = Connector::new(&url, proxy, connect_timeout)?;
        Self::through(connector, url, forward)
    }

    /// Like [`new`](Self::new), for a server that listens on a Unix socket.
    pub(crate) fn over_socket(
        url: Url,
        socket: &Path,
        connect_timeout: Duration,
    ) -> Result<Self, HttpConfigError> {
        Self::through(Connector::to_socket(socket, connect_timeout), url, None)
    }

    fn through(
        connector: Connector,
        url: Url,
        forward: Option<Forward>,
    ) -> Result<Self, HttpConfigError> {
        let unusable = || HttpConfigError::Url("it cannot be sent".to_owned());
        let origin = url[..Position::BeforePath].parse().map_err(|_| unusable())?;
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
        let (uri, host) = (path(&url).ok_or_else(unusable)?, host.map_err(|_| unusable())?);
        let pool = Pool::new(connector, origin);
        Ok(Self { pool, url, uri, host, forward, authorizer: None })
    }

    /// Adds the authorizer whose token requests carry.
    pub(crate) fn signed_in(mut self, authorizer: Option<Arc<Authorizer>>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Returns the path and query of the server's URL.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Resolves `reference` against the server's URL. Returns `None` if it points to another origin.
    pub(crate) fn resolve(&self, reference: &str) -> Option<Uri> {
        let url = self.url.join(reference).ok()?;
        if url.origin() == self.url.origin() { path(&url) } else { None }
    }

    /// Sends a request with the sign-in token, if there is one. Retries if the server refuses the token and another one is
    /// available: a server does not handle a request that it refuses so. Headers in `own` replace those of the same name.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: &HeaderMap,
        own: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<PooledResponse, Failure> {
        let Some(authorizer) = &self.authorizer else {
            return self.send_with(None, (method, uri, headers, own, body)).await;
        };
        // Boxed, so that the future of every request stays small.
        Box::pin(async {
            let mut attempts = RequestAttempts::begin(authorizer).await?;
            loop {
                let request = (method.clone(), uri, headers, own, body.clone());
                let answer = self.send_with(attempts.token(), request).await?;
                let nonce = answer.header(&DPOP_NONCE).and_then(|nonce| str::from_utf8(nonce).ok());
                nonce.inspect(|nonce| attempts.note_nonce(nonce));
                let Some(challenge) = challenge(&answer) else { return Ok(answer) };
                attempts.refused(challenge).await?;
            }
        })
        .await
    }

    /// Sends a request with a token, and follows redirects to the same server.
    ///
    /// A redirect to another server is returned as it is: the credentials and the session in our headers are meant for
    /// this server only.
    async fn send_with(
        &self,
        token: Option<&RequestToken>,
        (method, uri, headers, own, body): RequestParts<'_>,
    ) -> Result<PooledResponse, Failure> {
        let (mut there, mut redirects) = (None, 0);
        loop {
            let mut request = PoolRequest::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            let target = there.as_ref().unwrap_or(uri);
            *request.uri_mut() = self.target(target)?;
            *request.headers_mut() = self.headers(headers, own);
            if let Some(token) = token {
                request.headers_mut().extend(self.authorization(token, &method, target)?);
            }
            let answer = self.pool.send(request).await?;
            match self.redirected(&method, &answer) {
                Some(next) if redirects < REDIRECTS => there = Some(next),
                _ => return Ok(answer),
            }
            redirects += 1;
        }
    }

    /// Returns the request target; a forwarding proxy needs the host in it, too.
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
        // Several headers of one name are all sent; together they replace those that were there.
        for (name, _) in own {
            headers.remove(name);
        }
        headers.extend(own.iter().cloned());
        headers
    }

    /// Returns the headers for a token; none if the token is not a valid header value.
    fn authorization(
        &self,
        token: &RequestToken,
        method: &Method,
        target: &Uri,
    ) -> Result<HeaderMap, Failure> {
        let unusable = |error| Failure::Lost(format!("the sign-in cannot be used: {error}"));
        let url = self.url.join(&target.to_string()).unwrap_or_else(|_| self.url.clone());
        let named = token.headers(method.as_str(), &url).map_err(unusable)?;
        let headers = named.into_iter().filter_map(|(name, secret)| {
            let mut value = HeaderValue::from_str(secret.expose()).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        });
        Ok(headers.collect())
    }

    fn redirected(&self, method: &Method, answer: &PooledResponse) -> Option<Uri> {
        let keeps_method = match answer.status() {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::GET,
            _ => false,
        };
        let location = answer.header(&LOCATION).filter(|_| keeps_method)?;
        self.resolve(str::from_utf8(location).ok()?)
    }
}

/// Returns the challenge of a response that refuses the token; `None` if it does not, or asks for something other than a
/// token.
fn challenge(answer: &PooledResponse) -> Option<Challenge> {
    let values = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    Challenge::of_response(answer.status().as_u16(), values)
}

fn path(url: &Url) -> Option<Uri> {
    url[Position::BeforePath..Position::AfterQuery].parse().ok()
}
