//! Requests to authorization servers: https or loopback only, bounded in size and time, and never sent on to elsewhere.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, StatusCode, header, redirect};
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_egress::{HostNetwork, PublicResolver, host_network, is_private_literal};
use switchboard_vault::Secret;
use url::{Host, Url};
use zeroize::Zeroizing;

use super::{
    challenge::Challenge,
    client::ClientProof,
    dpop::NONCE,
    error::Error,
    secret_observer::{SecretGuard, SecretObserver},
};

/// How long one request may take, the whole answer included.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is read.
const MAX_BYTES: usize = 1 << 20;
/// How much room an answer gets at first.
const USUAL_BYTES: usize = 16 << 10;
/// How many times a request for metadata may be sent elsewhere on the same origin.
const REDIRECTS: usize = 3;

/// The fields of a form that are secret: an authorization server may repeat them in its answer.
const SECRET_FIELDS: [&str; 9] = [
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "refresh_token",
    "subject_token",
    "token",
];

/// Sends the requests of sign-ins.
#[derive(Clone)]
pub struct HttpClient {
    direct: Client,
    proxied: Client,
    /// Connects to public addresses only, through no proxy.
    public: Client,
    /// Which requests go through a proxy of the system.
    proxies: Arc<Matcher>,
    is_public_only: bool,
    /// The names that were found in a private network, with the addresses that they are connected to.
    pinned: Vec<(String, Vec<SocketAddr>)>,
    observe: Option<SecretObserver>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HttpClient");
        shown.field("is_public_only", &self.is_public_only).finish_non_exhaustive()
    }
}

/// An answer, read whole. It may have secrets, so its bytes are overwritten when it is dropped.
pub(super) struct OAuthResponse {
    pub(super) status: StatusCode,
    bytes: Zeroizing<Vec<u8>>,
    /// The nonce that the next proof must have, if one was sent.
    pub(super) nonce: Option<String>,
}

impl OAuthResponse {
    /// Reads the body, so that what is a [`Secret`] in `T` is in no other place.
    ///
    /// # Errors
    /// It is no JSON, or another.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }

    /// Returns the body, which has no secret; `null` if it is no JSON.
    pub(super) fn body(&self) -> Value {
        self.read().unwrap_or_default()
    }
}

impl HttpClient {
    /// Creates a client.
    ///
    /// # Errors
    /// HTTP cannot be used here at all.
    pub fn new() -> Result<Self, Error> {
        // Fails where the host has installed one already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let direct = built(builder().no_proxy())?;
        let proxied = built(builder())?;
        let public = built(builder().no_proxy().dns_resolver(Arc::new(PublicResolver)))?;
        Ok(Self {
            direct,
            proxied,
            public,
            proxies: Arc::new(Matcher::from_system()),
            is_public_only: false,
            pinned: Vec::new(),
            observe: None,
        })
    }

    /// Has `observe` called with every secret before it is sent.
    pub fn observed_by(self, observe: SecretObserver) -> Self {
        Self { observe: Some(observe), ..self }
    }

    /// Returns what says that the secrets of a request are in use.
    fn secrets_of(&self, form: &[(&str, &str)], proof: &ClientProof) -> Vec<SecretGuard> {
        let Some(observe) = &self.observe else { return Vec::new() };
        let fields = form.iter().filter(|(name, _)| SECRET_FIELDS.contains(name));
        let fields = fields.map(|(_, value)| observe(&Secret::from(*value)));
        fields.chain(proof.secrets().map(|secret| observe(secret))).collect()
    }

    /// Returns the client for what a server says of itself: a server of the public internet cannot make us reach into the
    /// network that we are in. One that is in a private network is connected to at the addresses that were found now, so that
    /// another answer of its name server cannot put somebody else in its place.
    ///
    /// # Errors
    /// HTTP cannot be used here at all.
    pub(super) async fn for_server(&self, server: &Url) -> Result<Self, Error> {
        if self.is_public_only {
            return Ok(self.clone());
        }
        let addresses = match host_network(server).await {
            HostNetwork::Public => return Ok(self.public_only()),
            HostNetwork::Private(addresses) => addresses,
        };
        match server.host() {
            // An address, or the name that is always this machine, has no name server.
            Some(Host::Domain(name)) if name != "localhost" => self.pin(name, &addresses),
            _ => Ok(self.clone()),
        }
    }

    /// Returns the client for the metadata of a server, which may be on the host that its challenge names: then that one must
    /// be in a private network as well, so that what it names may be.
    ///
    /// # Errors
    /// As [`for_server`](Self::for_server).
    pub(super) async fn for_metadata(
        &self,
        server: &Url,
        challenge: &Challenge,
    ) -> Result<Self, Error> {
        let http = self.for_server(server).await?;
        let named = challenge.resource_metadata.as_deref().and_then(|url| Url::parse(url).ok());
        match named.filter(|named| named.host() != server.host()) {
            Some(named) => http.for_server(&named).await,
            None => Ok(http),
        }
    }

    /// Returns the client for what the settings name.
    pub(super) fn allow_private(&self) -> Self {
        Self { is_public_only: false, ..self.clone() }
    }

    /// Returns a client that connects to public addresses only.
    pub(super) fn public_only(&self) -> Self {
        Self { is_public_only: true, ..self.clone() }
    }

    /// Whether it connects to public addresses only.
    pub(super) fn is_public_only(&self) -> bool {
        self.is_public_only
    }

    /// Returns a client that connects to this name at these addresses only.
    fn pin(&self, name: &str, addresses: &[IpAddr]) -> Result<Self, Error> {
        let mut pinned = self.pinned.clone();
        // The port is the one of each request.
        let addresses = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        pinned.push((name.to_owned(), addresses));
        let pin = |builder: ClientBuilder| {
            let pins = pinned.iter();
            built(pins.fold(builder, |builder, (name, to)| builder.resolve_to_addrs(name, to)))
        };
        let (direct, proxied) = (pin(builder().no_proxy())?, pin(builder())?);
        Ok(Self { direct, proxied, pinned, ..self.clone() })
    }

    /// Gets a JSON document; returns `None` if there is none at this address.
    pub(super) async fn document(
        &self,
        url: &Url,
        what: &'static str,
    ) -> Result<Option<Value>, Error> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let request = self
                .client(&url)
                .await?
                .get(url.clone())
                .header(header::ACCEPT, "application/json");
            let response = send(request, &url, what).await?;
            if response.status().is_redirection() {
                let next = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
                let next = next.and_then(|to| url.join(to).ok());
                match next.filter(|next| next.origin() == url.origin()) {
                    Some(next) => url = next,
                    None => return Ok(None),
                }
                continue;
            }
            if !response.status().is_success() {
                return Ok(None);
            }
            let bytes = whole(response, &url, what).await?;
            // A page for people, as some servers have at every address.
            return Ok(serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object));
        }
        Ok(None)
    }

    /// Posts a form with what proves who sends it, and reads the answer whatever its status.
    pub(super) async fn form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        proof: &ClientProof,
        what: &'static str,
    ) -> Result<OAuthResponse, Error> {
        let form = proof.form(form);
        let _in_use = self.secrets_of(&form, proof);
        let mut request = self.client(url).await?.post(url.clone()).form(&form);
        request = request.header(header::ACCEPT, "application/json");
        for (name, value) in &proof.headers {
            let mut value = header::HeaderValue::from_str(value.expose()).map_err(|_| {
                Error::Settings("a client id or secret cannot be sent in a header".to_owned())
            })?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        answer(send(request, url, what).await?, url, what).await
    }

    /// Posts JSON, and reads the answer whatever its status.
    pub(super) async fn json(
        &self,
        url: &Url,
        body: &Value,
        what: &'static str,
    ) -> Result<OAuthResponse, Error> {
        let request = self.client(url).await?.post(url.clone()).json(body);
        answer(send(request, url, what).await?, url, what).await
    }

    /// Asks the server itself for something without a token, and returns what `WWW-Authenticate` it answers with.
    pub(super) async fn challenges(&self, url: &Url) -> Result<Vec<String>, Error> {
        let request = self.client(url).await?.get(url.clone());
        let request = request.header(header::ACCEPT, "application/json, text/event-stream");
        let response = send(request, url, "reach the server").await?;
        let values = response.headers().get_all(header::WWW_AUTHENTICATE).iter();
        Ok(values.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect())
    }

    /// Returns the client for a request to this address.
    ///
    /// # Errors
    /// The address is private, and must not be.
    async fn client(&self, url: &Url) -> Result<&Client, Error> {
        if !self.is_public_only {
            // No proxy stands in front of this machine.
            return Ok(if is_loopback(url) { &self.direct } else { &self.proxied });
        }
        let uri = url.as_str().parse();
        let is_proxied = uri.is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        match is_proxied {
            false if !is_private_literal(url) => Ok(&self.public),
            // The proxy resolves the name itself, so it is not told one that is known to be private.
            true if host_network(url).await == HostNetwork::Public => Ok(&self.proxied),
            _ => Err(Error::Private { url: redacted_url(url) }),
        }
    }
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        .timeout(TIMEOUT)
        .redirect(redirect::Policy::none())
}

fn built(builder: ClientBuilder) -> Result<Client, Error> {
    builder.build().map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Error::Metadata(format!("{error}{}", cause.unwrap_or_default()))
    })
}

async fn send(request: RequestBuilder, url: &Url, what: &'static str) -> Result<Response, Error> {
    request.send().await.map_err(|error| failed(url, what, &error))
}

async fn answer(response: Response, url: &Url, what: &'static str) -> Result<OAuthResponse, Error> {
    let status = response.status();
    let nonce = response.headers().get(NONCE).and_then(|nonce| nonce.to_str().ok());
    let nonce = nonce.map(str::to_owned);
    let bytes = whole(response, url, what).await?;
    Ok(OAuthResponse { status, bytes, nonce })
}

async fn whole(
    mut response: Response,
    url: &Url,
    what: &'static str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(USUAL_BYTES));
    while let Some(piece) = response.chunk().await.map_err(|error| failed(url, what, &error))? {
        let length = bytes.len() + piece.len();
        if length > MAX_BYTES {
            let reason = format!("the answer has more than {MAX_BYTES} bytes");
            return Err(Error::Request { what, url: redacted_url(url), reason });
        }
        if length > bytes.capacity() {
            // What a growing `Vec` leaves behind is not overwritten.
            let mut larger = Zeroizing::new(Vec::with_capacity(length.max(2 * bytes.capacity())));
            larger.extend_from_slice(&bytes);
            bytes = larger;
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn failed(url: &Url, what: &'static str, error: &reqwest::Error) -> Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Error::Request { what, url: redacted_url(url), reason: cause.to_string() }
}

/// An address without what may be secret in it.
pub(super) fn redacted_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    _ = url.set_username("");
    _ = url.set_password(None);
    url.to_string()
}

/// Reads an address that tokens and codes may be sent to: https, or this machine if the server itself is there.
pub(super) fn trusted(text: &str, server: &Url) -> Result<Url, Error> {
    let url = Url::parse(text)
        .map_err(|error| Error::Metadata(format!("`{text}` is not an address: {error}")))?;
    let is_plain = url.scheme() == "http" && is_loopback(&url) && is_loopback(server);
    if (url.scheme() == "https" || is_plain) && url.has_host() {
        Ok(url)
    } else {
        Err(Error::Insecure { url: redacted_url(&url) })
    }
}

/// Whether the address is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1: a server of the public internet names an address of our own network.
    #[tokio::test]
    async fn metadata_reach_no_private_network() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (any, server) =
            (HttpClient::new().unwrap(), Url::parse("https://1.1.1.1/mcp").unwrap());
        let http = any.for_server(&server).await.unwrap();
        for (host, reason) in [
            ("127.0.0.1", "a private network"),
            ("[::1]", "a private network"),
            ("169.254.169.254", "a private network"),
            ("localhost", "a private network"),
        ] {
            let url = Url::parse(&format!("http://{host}:{port}/x")).unwrap();
            let error = http.document(&url, "read").await.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let nobody = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(nobody.is_err(), "somebody has connected");
    }

    // AU-1: a server in a private network whose challenge points to a document of somebody else's.
    #[tokio::test]
    async fn a_document_of_a_public_host_names_nothing_private() {
        let any = HttpClient::new().unwrap();
        let server = Url::parse("http://127.0.0.1:1/mcp").unwrap();
        for (document, is_public_only) in [
            (None, false),
            (Some("http://127.0.0.1:2/metadata"), false),
            (Some("https://10.0.0.1/metadata"), false),
            (Some("https://1.1.1.1/metadata"), true),
        ] {
            let resource_metadata = document.map(str::to_owned);
            let challenge = Challenge { resource_metadata, ..Challenge::default() };
            let http = any.for_metadata(&server, &challenge).await.unwrap();
            assert_eq!(http.is_public_only(), is_public_only, "{document:?}");
        }
    }

    // AU-1: the name server answers with another address once the host was found to be private.
    #[tokio::test]
    async fn a_private_host_is_connected_to_where_it_was_found() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // Nothing but the pin knows this name.
        let url = Url::parse(&format!("http://tools.invalid:{port}/x")).unwrap();
        let here = [IpAddr::from([127, 0, 0, 1])];
        let http = HttpClient::new().unwrap().pin("tools.invalid", &here).unwrap();
        let asked = tokio::spawn(http.direct.get(url).send());
        drop(listener.accept().await.unwrap());
        assert!(asked.await.unwrap().is_err());
    }

    // AU-1
    #[test]
    fn tokens_go_over_tls_or_stay_on_this_machine() {
        let (here, there) = (
            Url::parse("http://127.0.0.1:1/mcp").unwrap(),
            Url::parse("https://a.example/mcp").unwrap(),
        );
        for url in ["https://as.example/token", "https://localhost/t", "https://10.0.0.1/t"] {
            assert!(trusted(url, &there).is_ok() && trusted(url, &here).is_ok(), "{url}");
        }
        for url in ["http://127.0.0.1:9/t", "http://localhost/t", "http://[::1]/t"] {
            assert!(trusted(url, &here).is_ok(), "{url}");
            assert!(matches!(trusted(url, &there), Err(Error::Insecure { .. })), "{url}");
        }
        for url in [
            "http://as.example/t",
            "http://10.0.0.1/t",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "javascript:1",
            "x",
        ] {
            assert!(trusted(url, &here).is_err() && trusted(url, &there).is_err(), "{url}");
        }
    }
}
