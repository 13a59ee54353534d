//! Sends a request and reads the response, limited in size.

use std::{net::IpAddr, sync::OnceLock};

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER},
    redirect,
};

use super::{failure::HttpFailure, request::HttpRequest};

/// The largest response, in bytes.
pub(super) const MAX_BODY: usize = 16 * 1024 * 1024;

/// How much of an answer that says no is read, in bytes.
const MAX_REFUSAL: usize = 64 * 1024;

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// The way to one server. Its connections are shared by all requests.
pub struct HttpExchange {
    origin: Url,
    client: OnceLock<Client>,
}

/// A response whose status is below 400.
#[derive(Debug)]
pub struct HttpResponse {
    /// Host and port of the server, for messages.
    pub service: String,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The content type.
    pub content_type: Option<String>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl HttpExchange {
    /// Creates the way to the server at this origin. Does not connect.
    pub fn with(origin: &Url) -> Self {
        Self { origin: origin.clone(), client: OnceLock::new() }
    }

    /// Sends the request and reads the answer.
    ///
    /// # Errors
    /// There is no answer, it says no, or it is more than is taken.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection; the server may have acted already.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        let service = service(&self.origin);
        let fail = |error| HttpFailure::network(&service, error);
        let HttpRequest { method, url, headers, body } = request;
        let mut sent = self.client().map_err(fail)?.request(method, url).headers(headers);
        if let Some(body) = body {
            sent = sent.body(body);
        }
        let response = sent.send().await.map_err(fail)?;
        let status = response.status();
        if status.as_u16() >= 400 {
            return Err(refusal(service, response).await);
        }
        if let Some(failure) = redirection(&service, &response) {
            return Err(failure);
        }
        if let Some(encoding) = header(response.headers(), &CONTENT_ENCODING)
            && !encoding.eq_ignore_ascii_case("identity")
        {
            return Err(HttpFailure::Encoded { service, encoding });
        }
        let content_type = header(response.headers(), &CONTENT_TYPE);
        let headers = response.headers().clone();
        let (body, is_whole) = read(response, MAX_BODY).await;
        match is_whole {
            Ok(true) => Ok(HttpResponse { service, status, headers, content_type, body }),
            Ok(false) => Err(HttpFailure::TooLong { service }),
            Err(error) => Err(HttpFailure::broken_off(&service, error)),
        }
    }

    /// The client, made at the first call: loading certificates takes longer than starting up should.
    fn client(&self) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails if the host has installed one already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
            .referer(false)
            .redirect(redirect::Policy::custom(follow));
        let builder = if is_here(&self.origin) { builder.no_proxy() } else { builder };
        let client = builder.build()?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Follows a few redirects within the origin: the request is not meant for others.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let before = attempt.previous();
    let stays = before.iter().all(|from| from.origin() == attempt.url().origin());
    if stays && before.len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

/// Returns why a redirect was not followed, if the answer is one.
fn redirection(service: &str, response: &Response) -> Option<HttpFailure> {
    let location =
        header(response.headers(), &LOCATION).filter(|_| response.status().is_redirection())?;
    let service = service.to_owned();
    let code = response.status().as_u16();
    Some(match response.url().join(&location) {
        Ok(to) if to.origin() == response.url().origin() => {
            HttpFailure::RedirectsTooOften { service, most: MAX_REDIRECTS }
        }
        // Only the origin is shown: the rest may contain secrets.
        Ok(to) => {
            HttpFailure::RedirectsElsewhere { service, code, to: to.origin().ascii_serialization() }
        }
        Err(_) => HttpFailure::RedirectsElsewhere { service, code, to: "nowhere".to_owned() },
    })
}

async fn refusal(service: String, response: Response) -> HttpFailure {
    let status: StatusCode = response.status();
    let retry_after = header(response.headers(), &RETRY_AFTER);
    let content_type = header(response.headers(), &CONTENT_TYPE);
    let headers = response.headers().clone();
    let (body, _) = read(response, MAX_REFUSAL).await;
    HttpFailure::Status { service, status, headers, retry_after, content_type, body }
}

/// Reads the body up to `most` bytes; says whether that was all of it.
async fn read(mut response: Response, most: usize) -> (Vec<u8>, Result<bool, reqwest::Error>) {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = most - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return (body, Ok(false));
                }
            }
            Ok(None) => return (body, Ok(true)),
            Err(error) => return (body, Err(error)),
        }
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned())
}

/// Returns host and port, without user info.
fn service(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether the address is this machine, which no proxy is in front of.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
