//! Opens connections: directly to the server or through a proxy, with TLS if the address asks for it.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{
        HttpConnector,
        proxy::{SocksV5, Tunnel},
    },
    rt::TokioIo,
};
use rustls_platform_verifier::BuilderVerifierExt;
use switchboard_toolcall::{BoxError, BoxFuture};
use tokio::{
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tower_service::Service;
use url::Url;

use super::{HttpConfigError, proxy::Proxy};

/// The interval of TCP keepalive probes, so that a call to a machine that vanished ends.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection.
#[expect(
    clippy::large_enum_variant,
    reason = "almost all are TCP, and the pool boxes its connections"
)]
pub(super) enum Stream {
    /// With TLS or without.
    Tcp(MaybeHttpsStream<TokioIo<TcpStream>>),
    Unix(TokioIo<UnixStream>),
}

/// Connects to one server.
#[derive(Clone)]
pub(super) struct Connector {
    kind: ConnectorKind,
    timeout: Duration,
}

#[derive(Clone)]
enum ConnectorKind {
    Plain(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
    /// To an HTTP proxy at this address, which forwards requests.
    Forwarded(HttpConnector, Uri),
    /// Through an HTTP proxy, by `CONNECT`.
    TlsTunnel(HttpsConnector<Tunnel<HttpConnector>>),
    Socks(SocksV5<HttpConnector>),
    TlsSocks(HttpsConnector<SocksV5<HttpConnector>>),
    /// To a Unix socket.
    Socket(PathBuf),
}

impl Connector {
    /// Creates a connector for the server at `url`, behind `proxy` if there is one. Each connection may take `timeout` to
    /// be open, TLS included.
    pub(super) fn new(
        url: &Url,
        proxy: Option<Proxy>,
        timeout: Duration,
    ) -> Result<Self, HttpConfigError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
        tcp.set_keepalive_retries(Some(3));
        let tls = url.scheme() == "https";
        let kind = match (proxy, tls) {
            (None, false) => ConnectorKind::Plain(tcp),
            (None, true) => ConnectorKind::Tls(with_tls(tcp)?),
            (Some(Proxy::Http(proxy, _)), false) => ConnectorKind::Forwarded(tcp, proxy),
            (Some(Proxy::Http(proxy, auth)), true) => {
                ConnectorKind::TlsTunnel(with_tls(tunnel(proxy, auth, tcp))?)
            }
            (Some(Proxy::Socks(proxy, auth)), false) => {
                ConnectorKind::Socks(socks(proxy, auth, tcp))
            }
            (Some(Proxy::Socks(proxy, auth)), true) => {
                ConnectorKind::TlsSocks(with_tls(socks(proxy, auth, tcp))?)
            }
        };
        Ok(Self { kind, timeout })
    }

    /// Creates a connector for a server that listens on a Unix socket.
    pub(super) fn to_socket(socket: &Path, timeout: Duration) -> Self {
        Self { kind: ConnectorKind::Socket(socket.to_owned()), timeout }
    }
}

/// Checks that a process of our own user listens on the socket.
fn check_listener(user: u32) -> io::Result<()> {
    match user == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("user {user} listens on the socket"),
        )),
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // All connectors below are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (mut kind, limit) = (self.kind.clone(), self.timeout);
        Box::pin(async move {
            let connecting = async {
                Ok(Stream::Tcp(match &mut kind {
                    ConnectorKind::Socket(socket) => {
                        let stream = UnixStream::connect(socket).await?;
                        check_listener(stream.peer_cred()?.uid())?;
                        return Ok(Stream::Unix(TokioIo::new(stream)));
                    }
                    ConnectorKind::Plain(tcp) => MaybeHttpsStream::Http(tcp.call(uri).await?),
                    ConnectorKind::Tls(tls) => tls.call(uri).await?,
                    ConnectorKind::Forwarded(tcp, proxy) => {
                        MaybeHttpsStream::Http(tcp.call(proxy.clone()).await?)
                    }
                    ConnectorKind::TlsTunnel(tls) => tls.call(uri).await?,
                    ConnectorKind::Socks(socks) => MaybeHttpsStream::Http(socks.call(uri).await?),
                    ConnectorKind::TlsSocks(tls) => tls.call(uri).await?,
                }))
            };
            timeout(limit, connecting).await.unwrap_or_else(|_| {
                let text = format!("no connection within {} s", limit.as_secs_f32());
                Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
            })
        })
    }
}

fn with_tls<C>(tcp: C) -> Result<HttpsConnector<C>, HttpConfigError> {
    // Chosen explicitly, so that a provider installed elsewhere in the process does not matter.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(HttpConfigError::Tls)?
        .with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn tunnel(proxy: Uri, auth: Option<HeaderValue>, tcp: HttpConnector) -> Tunnel<HttpConnector> {
    let tunnel = Tunnel::new(proxy, tcp);
    match auth {
        Some(auth) => tunnel.with_auth(auth),
        None => tunnel,
    }
}

/// Creates a SOCKS connector.
/// The proxy resolves names, for `socks5` as for `socks5h`: hyper-util would block a serving thread for it.
fn socks(proxy: Uri, auth: Option<(String, String)>, tcp: HttpConnector) -> SocksV5<HttpConnector> {
    let socks = SocksV5::new(proxy, tcp);
    match auth {
        Some((user, password)) => socks.with_auth(user, password),
        None => socks,
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // GW-2
    #[test]
    fn only_our_own_user_is_talked_to_over_a_socket() {
        let own = rustix::process::geteuid().as_raw();
        assert!(check_listener(own).is_ok());
        let refused = check_listener(own + 1).unwrap_err().to_string();
        assert_eq!(refused, format!("user {} listens on the socket", own + 1));
    }
}
