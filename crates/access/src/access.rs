//! Decides about requests: where one comes from, whose token it bears, which tools that token may see (SPEC GW-2).

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Uri, header, request};
use tokio::net::TcpStream;

use crate::{
    Caller, Config, Credential, JwtConfig, JwtError, NewSession, Peer, Peers, Rejection, Share,
    Tokens, UserLookup,
    hosts::{self, Hosts},
    jwt::Jwt,
    peer,
    sessions::{SessionSubject, Sessions},
    tokens,
};

/// Decides about requests.
pub struct Access {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) jwt: Option<Jwt>,
    /// Whether everybody needs a token, whosever the connection is.
    pub(crate) demands_token: bool,
    /// How the user of a connection is found.
    pub(crate) lookup: UserLookup,
    hosts: Hosts,
    pub(crate) sessions: Sessions,
    /// The other gateways, where there are any.
    peers: Option<Arc<dyn Peers>>,
    pub(crate) is_tls: bool,
    /// Where clients reach us, where that cannot be seen from a request.
    pub(crate) public_url: Option<String>,
}

/// A request that is let in, and what it holds until it has been answered.
pub struct Admitted {
    /// Who asks.
    pub caller: Caller,
    /// The place in the token's share.
    pub share: Share,
    /// What it was let in with.
    pub credential: Credential,
}

impl Admitted {
    /// A program of the user who runs the gateway, without a token where none is demanded: it may do everything. Over our
    /// own socket it may say under which name.
    fn owner(request: &request::Parts, peer: Peer) -> Self {
        let caller = match peer {
            Peer::OwnSocket => Caller::introduced(&request.headers),
            _ => Caller::default(),
        };
        let caller = caller.approving(true);
        Self { caller, share: Share::default(), credential: Credential::NotNeeded }
    }
}

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Anybody on the network could call the tools.
    #[error(
        "refusing to listen on {0} without a token: everybody who can reach it could call every tool; make one with \
         `switchboard token new --name NAME`, or listen on 127.0.0.1"
    )]
    Open(std::net::SocketAddr),
    /// Clients could not be told where we are.
    #[error("`[serve] public_url`: `{0}` is not like `https://tools.example`, without a path")]
    PublicUrl(String),
    /// `[serve.jwt]` cannot be used.
    #[error(transparent)]
    Jwt(#[from] JwtError),
}

impl Access {
    /// The rules for a gateway that listens on `address`.
    ///
    /// # Errors
    /// It is reachable from elsewhere and there is no token, or other settings cannot be used.
    pub fn new(
        config: &Config,
        address: std::net::SocketAddr,
        tokens: Arc<Tokens>,
    ) -> Result<Self, AccessError> {
        Self::among(None, config, address, tokens)
    }

    /// As [`new`](Self::new), for one gateway of many: a token may then be made at any time and anywhere.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn among(
        peers: Option<Arc<dyn Peers>>,
        config: &Config,
        address: std::net::SocketAddr,
        tokens: Arc<Tokens>,
    ) -> Result<Self, AccessError> {
        let is_local = address.ip().is_loopback();
        let jwt = config.jwt.clone().map(Jwt::new).transpose()?;
        if !is_local && tokens.is_empty() && jwt.is_none() && peers.is_none() {
            return Err(AccessError::Open(address));
        }
        let access = Self {
            tokens,
            jwt,
            demands_token: !is_local || config.require_token,
            lookup: peer::SYSTEM,
            hosts: Hosts::new(config, address),
            sessions: Sessions::new(address.port(), peers.clone()),
            peers,
            is_tls: config.is_tls,
            public_url: config.public_url.as_deref().map(public_url).transpose()?,
        };
        access.warn(config, address);
        Ok(access)
    }

    /// Finds the users of connections by `lookup` instead of the system's own way.
    #[must_use]
    pub fn with_lookup(mut self, lookup: UserLookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// Looks up who has the other end of a connection.
    pub fn peer(&self, stream: &TcpStream) -> Peer {
        match self.demands_token {
            true => Peer::Unknown,
            false => Peer::of(stream, self.lookup),
        }
    }

    /// Lets a request in, or says why not.
    ///
    /// # Errors
    /// A foreign page or host, no token where one is demanded, a token that is no good, or a share that is used up.
    pub async fn admit(&self, request: &request::Parts, peer: Peer) -> Result<Admitted, Rejection> {
        self.hosts.check(request)?;
        match bearer(request)? {
            Some(secret) if self.judges(secret) => match &self.jwt {
                Some(jwt) if !secret.starts_with(tokens::PREFIX) => {
                    jwt.admit(secret, self.peers()).await
                }
                _ => self.admit_token(secret).await,
            },
            Some(_) if self.demands_token(peer) => {
                let demand = self.demand(peer);
                Err(Rejection::InvalidToken(format!("the token is not known; {demand}")))
            }
            // Chat clients always send a key, any key.
            _ => self.admit_page(request, peer).await,
        }
    }

    /// Lets in who bears no token: our own page after a sign-in, or the owner where no token is demanded.
    async fn admit_page(
        &self,
        request: &request::Parts,
        peer: Peer,
    ) -> Result<Admitted, Rejection> {
        let found = self.sessions.find(&request.headers).await;
        let Some((key, whose)) = found else {
            return match self.demands_token(peer) {
                true => Err(Rejection::Unauthorized(self.demand(peer))),
                false => Ok(Admitted::owner(request, peer)),
            };
        };
        self.hosts.check_own_page(request)?;
        let admitted = match whose {
            SessionSubject::Jwt(caller) => self.admit_signed_in(caller).await,
            SessionSubject::Claims(claims) => {
                let jwt = self.jwt.as_ref().ok_or_else(|| {
                    Rejection::InvalidToken("JWTs are not taken at this gateway".to_owned())
                })?;
                self.admit_signed_in(jwt.caller(claims)?).await
            }
            SessionSubject::Token(hash) => self.admit_known(hash).await,
        }?;
        Ok(Admitted { credential: Credential::Session(key), ..admitted })
    }

    async fn admit_signed_in(&self, caller: Caller) -> Result<Admitted, Rejection> {
        let share = match &self.jwt {
            Some(jwt) => jwt.share(&caller, self.peers()).await?,
            None => Share::default(),
        };
        Ok(Admitted { caller, share, credential: Credential::NotNeeded })
    }

    /// Opens a session for our own page, which then needs no token.
    ///
    /// # Errors
    /// The request does not come from our page, or the token is no good.
    pub async fn sign_in(
        &self,
        request: &request::Parts,
        secret: &str,
        peer: Peer,
    ) -> Result<NewSession, Rejection> {
        self.hosts.check_own_page(request)?;
        let whose = match &self.jwt {
            _ if !self.judges(secret) && !self.demands_token(peer) => {
                return Ok(NewSession::default());
            }
            Some(jwt) if !secret.starts_with(tokens::PREFIX) => {
                SessionSubject::Jwt(jwt.admit(secret, self.peers()).await?.caller)
            }
            _ => {
                self.admit_token(secret).await?;
                SessionSubject::Token(tokens::hash(secret))
            }
        };
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.open(whose, is_secure).await
    }

    /// Ends the session of the request, where it has one, and returns the cookie that takes it from the browser.
    ///
    /// # Errors
    /// The request does not come from our page, or other gateways could not be told.
    pub async fn sign_out(&self, request: &request::Parts) -> Result<HeaderValue, Rejection> {
        self.hosts.check_own_page(request)?;
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.close(&request.headers, is_secure).await
    }

    /// Returns whether nothing can be had over this connection without a token.
    pub fn demands_token(&self, peer: Peer) -> bool {
        peer != Peer::OwnSocket && (self.demands_token || peer != Peer::Owner)
    }

    /// Says why a token is needed, and what to do.
    fn demand(&self, peer: Peer) -> String {
        match self.demands_token {
            true => "a token is needed: send it as `Authorization: Bearer TOKEN`".to_owned(),
            false => peer.demand(),
        }
    }

    /// The tokens of this gateway, and those that others share with it.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// The other gateways, where there are any.
    pub fn peers(&self) -> Option<&dyn Peers> {
        self.peers.as_deref()
    }

    /// Returns whether a bearer token must be known even if none is demanded.
    fn judges(&self, secret: &str) -> bool {
        self.jwt.is_some() || secret.starts_with(tokens::PREFIX)
    }

    async fn admit_token(&self, secret: &str) -> Result<Admitted, Rejection> {
        self.admit_known(tokens::hash(secret)).await
    }

    async fn admit_known(&self, hash: [u8; 32]) -> Result<Admitted, Rejection> {
        let unknown = || Rejection::InvalidToken("the token is not known".to_owned());
        let token = self.tokens.find_hash(&hash).ok_or_else(unknown)?;
        let share = token.take_share(self.peers()).await?;
        Ok(Admitted { caller: token.caller(), share, credential: Credential::Token(hash) })
    }

    /// The origin of a page elsewhere that the settings let call us.
    pub fn foreign_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        self.hosts.foreign_page(headers)
    }

    /// Whether the request comes under a name, and from a page, that is ours.
    pub fn check_source(&self, request: &request::Parts) -> Result<(), Rejection> {
        self.hosts.check(request)
    }

    /// As [`check_source`](Self::check_source), for the console's page, which other sites may link to.
    pub fn check_visit(&self, request: &request::Parts) -> Result<(), Rejection> {
        self.hosts.check_visit(request)
    }

    /// SessionSubject JWTs are taken.
    pub fn jwt(&self) -> Option<&JwtConfig> {
        self.jwt.as_ref().map(Jwt::config)
    }

    /// Where clients reach us, as the one who sent this request does.
    pub fn base_url(&self, request: &request::Parts) -> Result<String, Rejection> {
        if let Some(url) = &self.public_url {
            return Ok(url.clone());
        }
        let scheme = if self.is_tls { "https" } else { "http" };
        let host = hosts::host(&request.headers, &request.uri)?;
        Ok(format!("{scheme}://{host}"))
    }
}

/// The scheme and the host, to which paths are added.
fn public_url(text: &str) -> Result<String, AccessError> {
    let url: Option<Uri> = text.parse().ok();
    let is_root = |url: &Uri| {
        let is_web = matches!(url.scheme_str(), Some("http" | "https"));
        is_web && url.path() == "/" && url.query().is_none()
    };
    match url.is_some_and(|url| is_root(&url)) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err(AccessError::PublicUrl(text.to_owned())),
    }
}

/// The token of the request, where it has one.
fn bearer(request: &request::Parts) -> Result<Option<&str>, Rejection> {
    let Some(value) = request.headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let wrong = || {
        Rejection::Unauthorized(
            "the Authorization header is not understood: it should be `Bearer TOKEN`".to_owned(),
        )
    };
    let (scheme, secret) =
        value.to_str().ok().and_then(|value| value.trim().split_once(' ')).ok_or_else(wrong)?;
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(Some(secret.trim())),
        false => Err(wrong()),
    }
}
