//! The only way out of a sandbox: a proxy that knows where the program may connect to, by name and port.
//!
//! It speaks `CONNECT`, and passes on plain HTTP requests one by one. It looks names up itself, at the moment it connects, so a
//! name cannot mean one address when it is judged and another when it is used. What is said inside of a tunnel has to be for
//! the host that the tunnel is for: the name in a TLS handshake, and the `Host` of each plain request.

mod destination;
mod head;
mod inspect;
mod peer;
mod requests;
mod tls;

use std::{
    collections::BTreeSet,
    io,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use switchboard_egress::is_public;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
    time::timeout,
};

use crate::refusals::{RefusalLog, SandboxRefusal};

pub(crate) use destination::{ConnectDestination, ConnectList};
use head::{ProxyTarget, RequestHead};
use inspect::FirstWords;
use requests::{TunnelError, TunnelHost};

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);

/// How long connecting to a host may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How many connections of one program are served at once.
const MOST: usize = 256;

/// The hosts that a watched program connected to: all of them, since settings that leave one out are not enough.
pub(crate) type SeenHosts = Arc<Mutex<BTreeSet<String>>>;

/// What the connections of a program are judged by.
pub(crate) struct EgressProxy {
    /// Where it may connect to.
    pub(crate) allowed: ConnectList,
    /// The hosts that it connected to, if it is only watched; then it may connect everywhere.
    pub(crate) watched: Option<SeenHosts>,
    pub(crate) clients: ProxyClients,
    pub(crate) refusals: Arc<RefusalLog>,
}

/// Whom the proxy serves.
pub(crate) enum ProxyClients {
    /// Everybody who reaches it.
    All,
    /// Those who know this secret, since others reach it too.
    Token(String),
    /// The processes of our user, who may connect everywhere anyway.
    OwnUser,
}

/// Why a connection is not made.
enum ProxyError {
    /// The program may not connect there.
    Refused(String),
    /// The request cannot be understood.
    Bad(&'static str),
    /// The request has no credentials.
    Unknown,
    /// The host cannot be reached.
    Unreachable(String),
    /// The program hung up.
    Gone(io::Error),
}

impl From<io::Error> for ProxyError {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

impl EgressProxy {
    /// Serves the program for as long as this is polled.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept(), if connections.len() < MOST => match accepted {
                    Ok((client, _)) => {
                        let proxy = Arc::clone(&self);
                        connections.spawn(async move { proxy.talk(client).await });
                    }
                    // Too many open files, usually: others will be closed.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }

    async fn talk(&self, mut client: TcpStream) {
        let (status, text) = match self.answer(&mut client).await {
            Ok(()) => return,
            Err(ProxyError::Gone(error)) => {
                return tracing::debug!(%error, "a connection of a confined program ended");
            }
            Err(ProxyError::Refused(reason)) => ("403 Forbidden", reason),
            Err(ProxyError::Bad(reason)) => ("400 Bad Request", reason.to_owned()),
            Err(ProxyError::Unknown) => ("407 Proxy Authentication Required", String::new()),
            Err(ProxyError::Unreachable(reason)) => ("502 Bad Gateway", reason),
        };
        let length = text.len() + 1;
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{text}\n"
        );
        // The program may have hung up.
        let _ = client.write_all(response.as_bytes()).await;
        let _ = client.shutdown().await;
    }

    async fn answer(&self, client: &mut TcpStream) -> Result<(), ProxyError> {
        let read = timeout(HEAD, RequestHead::read(client)).await;
        let (head, rest) = read.map_err(|_| ProxyError::Bad("no request came"))??;
        self.check_client(client, &head)?;
        match head.target()? {
            ProxyTarget::Tunnel { host, port } => {
                let mut server = self.connect(&host, port).await?;
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                self.tunnel(client, &mut server, &host, port, rest).await
            }
            ProxyTarget::Request { host, port, path } => {
                let (length, request) = head.for_server(&host, port, &path)?;
                let mut server = self.connect(&host, port).await?;
                server.write_all(&request).await?;
                pass_on(client, &mut server, &rest, length).await?;
                Ok(())
            }
        }
    }

    fn check_client(&self, client: &TcpStream, head: &RequestHead) -> Result<(), ProxyError> {
        let is_known = match &self.clients {
            ProxyClients::All => true,
            ProxyClients::OwnUser => peer::is_own_users(client),
            ProxyClients::Token(token) => {
                let expected = format!("Basic {}", STANDARD.encode(format!("sandbox:{token}")));
                head.value("proxy-authorization").is_some_and(|given| given == expected)
            }
        };
        if is_known { Ok(()) } else { Err(ProxyError::Unknown) }
    }

    /// Connects to a host, if the program may.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, ProxyError> {
        let is_named = self.allowed.has(host, port);
        if let Some(seen) = &self.watched {
            let host = destination::text(host, port);
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
        } else if !is_named {
            return Err(self.refuse(host, port, "is not allowed"));
        }
        let unreachable = |error: io::Error| {
            ProxyError::Unreachable(format!(
                "cannot connect to {}: {error}",
                destination::text(host, port)
            ))
        };
        let addresses: Vec<_> =
            tokio::net::lookup_host((host, port)).await.map_err(unreachable)?.collect();
        let mut usable = addresses.clone();
        usable.retain(|address| self.may_use(address.ip(), host, port));
        if let (true, Some(address)) = (usable.is_empty(), addresses.first()) {
            let ip = address.ip().to_string();
            return Err(self.refuse(
                &ip,
                port,
                &format!("is what {host} leads to, a private address that is not allowed"),
            ));
        }
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in usable {
            match timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(server)) => {
                    // Requests are short and wait for their responses.
                    let _ = server.set_nodelay(true);
                    return Ok(server);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
            }
        }
        Err(unreachable(last))
    }

    /// Returns whether the program may connect to this address, which `host` resolved to.
    fn may_use(&self, ip: IpAddr, host: &str, port: u16) -> bool {
        let is_named = host == ip.to_string() || host == "localhost" && ip.is_loopback();
        self.watched.is_some()
            || is_named
            || is_public(ip)
            || is_documentation(ip)
            || self.allowed.has(&ip.to_string(), port)
    }

    fn refuse(&self, host: &str, port: u16, why: &str) -> ProxyError {
        let what = destination::text(host, port);
        let refusal = SandboxRefusal::Connect(what.clone());
        let text =
            format!("the sandbox refuses this connection: {what} {why}; {}", refusal.remedy());
        self.refusals.record(refusal);
        ProxyError::Refused(text)
    }

    /// Passes on what both say, as far as what the program says is for the host of the tunnel.
    async fn tunnel(
        &self,
        client: &mut TcpStream,
        server: &mut TcpStream,
        host: &str,
        port: u16,
        rest: Vec<u8>,
    ) -> Result<(), ProxyError> {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let (switched, first_response) = oneshot::channel();
        let up = async {
            match inspect::first_words(&mut from_client, rest, host).await? {
                FirstWords::Other(words) => {
                    to_server.write_all(&words).await?;
                    Ok(finish(&mut from_client, &mut to_server).await?)
                }
                FirstWords::Request(words) => {
                    let mut said = BufReader::new(words.chain(&mut from_client));
                    let tunnel = TunnelHost { host, port };
                    requests::pass_on(&mut said, &mut to_server, tunnel, first_response).await
                }
                FirstWords::OtherHost(other) => Err(TunnelError::OtherHost(other)),
            }
        };
        let up = async {
            up.await.map_err(|stopped| match stopped {
                TunnelError::Io(error) => error,
                TunnelError::OtherHost(other) => {
                    let other = destination::text(&other, port);
                    match &self.watched {
                        Some(seen) => {
                            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(other);
                        }
                        None => self.refusals.record(SandboxRefusal::Connect(other)),
                    }
                    io::Error::other("a tunnel to one host with a request to another")
                }
            })
        };
        let down = requests::responses(&mut from_server, &mut to_client, switched);
        tokio::try_join!(up, down)?;
        Ok(())
    }
}

/// Copies until the end, and passes that on too.
async fn finish(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    copy(from, to).await?;
    to.shutdown().await
}

/// Passes on the body of a request, of this length, and the whole response. Nothing else of the program's follows.
async fn pass_on(
    client: &mut TcpStream,
    server: &mut TcpStream,
    rest: &[u8],
    length: u64,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let mut body = rest.chain(&mut from_client).take(length);
        copy(&mut body, &mut to_server).await
    };
    let down = finish(&mut from_server, &mut to_client);
    tokio::try_join!(up, down)?;
    Ok(())
}

/// Returns whether an address is of the IPv4 blocks for documentation. They are no network that anybody is in, and closed networks
/// give them to the mirrors that stand in for public hosts.
fn is_documentation(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.is_documentation())
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-2
    #[tokio::test]
    async fn all_hosts_of_a_watched_program_are_seen() {
        let seen = SeenHosts::default();
        let refusals = Arc::new(RefusalLog::new("a", None));
        let (allowed, clients) = (ConnectList::default(), ProxyClients::All);
        let proxy = EgressProxy { allowed, watched: Some(Arc::clone(&seen)), clients, refusals };
        for port in 1..=200 {
            // Hardly anything listens there; it is seen all the same.
            let _ = proxy.connect("127.0.0.1", port).await;
        }
        assert_eq!(seen.lock().unwrap().len(), 200);
        assert_eq!(proxy.refusals.count(), 0);
    }

    // SB-1
    #[test]
    fn a_name_leads_to_public_addresses_only() {
        let refusals = Arc::new(RefusalLog::new("a", None));
        let (allowed, clients) = (ConnectList::default(), ProxyClients::All);
        let proxy = EgressProxy { allowed, watched: None, clients, refusals };
        let may_use = |ip: &str| proxy.may_use(ip.parse().unwrap(), "api.example.com", 443);
        for public in ["1.1.1.1", "100.63.0.1", "203.0.113.80", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(may_use(public), "{public}");
        }
        // 6to4 relays, IPv6 for documentation, and the blocks of 2001::/23 beside Teredo are reserved too.
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.88.99.1",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2001:0:1::1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
        ] {
            assert!(!may_use(private), "{private}");
        }
    }
}
