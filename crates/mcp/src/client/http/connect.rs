//! Opens connections: straight to the server or through a proxy, with TLS where the address asks for it.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{HttpConnector, proxy::Tunnel},
        proxy::matcher::Matcher,
    },
    rt::TokioIo,
};
use rustls_platform_verifier::BuilderVerifierExt;
use switchboard_toolcall::BoxFuture;
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;
use url::{Host, Url};

use super::ConfigError;

/// How often a silent connection is probed, so that a call to a machine that vanished ends.
const KEEPALIVE: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection, with TLS or without.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Connects to one server.
#[derive(Clone)]
pub(super) struct Connector {
    way: Way,
    timeout: Duration,
}

#[derive(Clone)]
enum Way {
    Plain(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
    PlainThroughProxy(Tunnel<HttpConnector>),
    TlsThroughProxy(HttpsConnector<Tunnel<HttpConnector>>),
}

impl Connector {
    /// A connector for the server at `url`; each connection has `timeout` to stand, TLS included.
    pub(super) fn new(url: &Url, timeout: Duration) -> Result<Self, ConfigError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
        tcp.set_keepalive_retries(Some(3));
        let tls = url.scheme() == "https";
        let way = match (proxy(url), tls) {
            (None, false) => Way::Plain(tcp),
            (None, true) => Way::Tls(with_tls(tcp)?),
            (Some(proxy), false) => Way::PlainThroughProxy(proxy.tunnel(tcp)),
            (Some(proxy), true) => Way::TlsThroughProxy(with_tls(proxy.tunnel(tcp))?),
        };
        Ok(Self { way, timeout })
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // None of the connectors below ever makes us wait here.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (mut way, limit) = (self.way.clone(), self.timeout);
        Box::pin(async move {
            let connecting = async {
                Ok(match &mut way {
                    Way::Plain(tcp) => MaybeHttpsStream::Http(tcp.call(uri).await?),
                    Way::Tls(tls) => tls.call(uri).await?,
                    Way::PlainThroughProxy(tcp) => MaybeHttpsStream::Http(tcp.call(uri).await?),
                    Way::TlsThroughProxy(tls) => tls.call(uri).await?,
                })
            };
            timeout(limit, connecting).await.unwrap_or_else(|_| {
                let text = format!("no connection within {} s", limit.as_secs_f32());
                Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
            })
        })
    }
}

fn with_tls<C>(tcp: C) -> Result<HttpsConnector<C>, ConfigError> {
    // Named here, so that it does not matter what else the process has installed.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(ConfigError::Tls)?
        .with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

struct Proxy {
    uri: Uri,
    auth: Option<http::HeaderValue>,
}

impl Proxy {
    fn tunnel(self, tcp: HttpConnector) -> Tunnel<HttpConnector> {
        let tunnel = Tunnel::new(self.uri, tcp);
        match self.auth {
            Some(auth) => tunnel.with_auth(auth),
            None => tunnel,
        }
    }
}

/// The proxy of the environment or the system, which nothing on this machine is behind.
fn proxy(url: &Url) -> Option<Proxy> {
    let here = match url.host()? {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    if here {
        return None;
    }
    let found = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
    Some(Proxy { uri: found.uri().clone(), auth: found.basic_auth().cloned() })
}
