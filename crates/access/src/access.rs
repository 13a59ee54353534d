//! Authenticates and authorises requests: where one comes from, whose token it has, which tools that token may see
//! (SPEC GW-2).

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Uri, header, request};
use tokio::net::TcpStream;

use crate::{
    Caller, Config, ConnectionUser, Credential, JwtConfig, JwtError, NewSession, Peers,
    QuotaPermit, Rejection, Tokens, UserLookup, connection_user,
    hosts::{self, Hosts},
    jwt::Jwt,
    oauth::{OwnAuthorizationServer, is_forwarded},
    sessions::{SessionSubject, Sessions},
    tokens,
};

/// Authenticates and authorises requests.
pub struct Access {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) jwt: Option<Jwt>,
    /// Whether everybody needs a token, regardless of the connection's user.
    pub(crate) demands_token: bool,
    /// Finds the user of a connection.
    pub(crate) lookup: UserLookup,
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Sessions,
    /// The other gateways, if there are any.
    peers: Option<Arc<dyn Peers>>,
    pub(crate) is_tls: bool,
    /// Our public URL, if it cannot be derived from requests.
    pub(crate) public_url: Option<String>,
    /// Our own authorization server, if we are one.
    pub(crate) oauth: Option<OwnAuthorizationServer>,
}

/// An admitted request, with what it holds until its response has been sent.
pub struct AdmittedRequest {
    /// The caller.
    pub caller: Caller,
    /// The permit of the caller's quota.
    pub share: QuotaPermit,
    /// The credential.
    pub credential: Credential,
}

impl AdmittedRequest {
    /// Admits a program of the user who runs the gateway without a token: it may do everything. Over our own socket it
    /// may set its caller name.
    fn owner(request: &request::Parts, peer: ConnectionUser) -> Self {
        let caller = match peer {
            ConnectionUser::OwnSocket => Caller::introduced(&request.headers),
            _ => Caller::owner(),
        };
        let caller = caller.approving(true);
        Self { caller, share: QuotaPermit::default(), credential: Credential::NotNeeded }
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
    /// The public URL is invalid.
    #[error("`[serve] public_url`: `{0}` is not like `https://tools.example`, without a path")]
    PublicUrl(String),
    /// People are to sign in at an issuer, and none is named.
    #[error("`[serve.oauth] oidc` needs `[serve.jwt]`, which names the issuer to sign in at")]
    NoIssuer,
    /// `[serve.jwt]` is invalid.
    #[error(transparent)]
    Jwt(#[from] JwtError),
}

impl Access {
    /// Creates the rules for a gateway that listens on `address`.
    ///
    /// # Errors
    /// It is reachable from other machines and there is no token, or other settings are invalid.
    pub fn new(
        config: &Config,
        address: std::net::SocketAddr,
        tokens: Arc<Tokens>,
    ) -> Result<Self, AccessError> {
        Self::among(None, config, address, tokens)
    }

    /// Like [`new`](Self::new), for one gateway of many: tokens may be created at any of them, at any time.
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
        let issuer = config.jwt.as_ref().map(|jwt| jwt.issuer.as_str());
        if issuer.is_none() && config.oauth.as_ref().is_some_and(|oauth| oauth.oidc.is_some()) {
            return Err(AccessError::NoIssuer);
        }
        let oauth = config.oauth.clone().map(|oauth| {
            OwnAuthorizationServer::new(oauth, &tokens, is_local, config.require_token, issuer)
        });
        let access = Self {
            oauth,
            tokens,
            jwt,
            demands_token: !is_local || config.require_token,
            lookup: connection_user::SYSTEM,
            hosts: Hosts::new(config, address),
            sessions: Sessions::new(address.port(), peers.clone()),
            peers,
            is_tls: config.is_tls,
            public_url: config.public_url.as_deref().map(public_url).transpose()?,
        };
        access.warn(config, address);
        Ok(access)
    }

    /// Finds the users of connections by `lookup` instead of the system's way.
    #[must_use]
    pub fn with_lookup(mut self, lookup: UserLookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// Looks up the user of a connection.
    pub fn peer(&self, stream: &TcpStream) -> ConnectionUser {
        let is_asked = self.oauth.as_ref().is_some_and(OwnAuthorizationServer::takes_local_user);
        match self.demands_token && !is_asked {
            true => ConnectionUser::Unknown,
            false => ConnectionUser::of(stream, self.lookup),
        }
    }

    /// Admits or rejects a request.
    ///
    /// # Errors
    /// A foreign page or host, a missing or invalid token, or a used up quota.
    pub async fn admit(
        &self,
        request: &request::Parts,
        peer: ConnectionUser,
    ) -> Result<AdmittedRequest, Rejection> {
        self.hosts.check(request)?;
        match bearer(request)? {
            Some(secret) if self.judges(secret) => match &self.jwt {
                Some(jwt) if !secret.starts_with(tokens::PREFIX) => {
                    jwt.admit(secret, self.peers()).await
                }
                _ => self.admit_token(request, secret).await,
            },
            Some(_) if self.demands_token(peer) => {
                let demand = self.demand(peer);
                Err(Rejection::InvalidToken(format!("the token is not known; {demand}")))
            }
            // Chat clients always send a key, any key.
            _ => self.admit_page(request, peer).await,
        }
    }

    /// Admits a request without a token: from the console after a sign-in, or from the owner if no token is required.
    async fn admit_page(
        &self,
        request: &request::Parts,
        peer: ConnectionUser,
    ) -> Result<AdmittedRequest, Rejection> {
        let found = self.sessions.find(&request.headers).await;
        let Some((key, whose)) = found else {
            return match self.demands_token(peer) {
                true => Err(Rejection::Unauthorized(self.demand(peer))),
                false => Ok(AdmittedRequest::owner(request, peer)),
            };
        };
        self.hosts.check_own_page(request)?;
        let admitted = self.admit_subject(whose).await?;
        Ok(AdmittedRequest { credential: Credential::Session(key), ..admitted })
    }

    async fn admit_subject(&self, whose: SessionSubject) -> Result<AdmittedRequest, Rejection> {
        match whose {
            SessionSubject::Jwt(caller) => self.admit_signed_in(caller).await,
            SessionSubject::Claims(claims) => {
                let jwt = self.jwt.as_ref().ok_or_else(|| {
                    Rejection::InvalidToken("JWTs are not taken at this gateway".to_owned())
                })?;
                self.admit_signed_in(jwt.caller(claims)?).await
            }
            SessionSubject::Token(hash) => self.admit_known(hash).await,
        }
    }

    /// Returns who visits a page of ours: by the console's session, or the owner if no token is required. `None` if that is
    /// not known. Says nothing of where the visitor comes from: see [`check_visit`](Self::check_visit) and
    /// [`check_own_form`](Self::check_own_form).
    ///
    /// # Errors
    /// The session's token or quota is used up.
    pub async fn visitor(
        &self,
        request: &request::Parts,
        peer: ConnectionUser,
    ) -> Result<Option<Caller>, Rejection> {
        match self.sessions.find(&request.headers).await {
            Some((_, whose)) => Ok(Some(self.admit_subject(whose).await?.caller)),
            None if self.demands_token(peer) || is_forwarded(request) => Ok(None),
            None => Ok(Some(Caller::owner())),
        }
    }

    /// Returns whose token or JWT this is.
    ///
    /// # Errors
    /// It is not valid, or its quota is used up.
    pub async fn identify(&self, secret: &str) -> Result<AdmittedRequest, Rejection> {
        match &self.jwt {
            Some(jwt) if !secret.starts_with(tokens::PREFIX) => {
                jwt.admit(secret, self.peers()).await
            }
            _ => self.admit_known(tokens::hash(secret)).await,
        }
    }

    /// Checks that a form was sent by a page of ours, for forms whose address nobody else knows.
    ///
    /// # Errors
    /// Another page may have sent it.
    pub fn check_own_form(&self, request: &request::Parts) -> Result<(), Rejection> {
        self.hosts.check_own_form(request)
    }

    async fn admit_signed_in(&self, caller: Caller) -> Result<AdmittedRequest, Rejection> {
        let share = match &self.jwt {
            Some(jwt) => jwt.share(&caller, self.peers()).await?,
            None => QuotaPermit::default(),
        };
        Ok(AdmittedRequest { caller, share, credential: Credential::NotNeeded })
    }

    /// Opens a session for the console, which then needs no token.
    ///
    /// # Errors
    /// The request does not come from our page, or the token is invalid.
    pub async fn sign_in(
        &self,
        request: &request::Parts,
        secret: &str,
        peer: ConnectionUser,
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
                self.admit_known(tokens::hash(secret)).await?;
                SessionSubject::Token(tokens::hash(secret))
            }
        };
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.open(whose, is_secure).await
    }

    /// Ends the session of the request, if it has one. Returns the cookie that removes it from the browser.
    ///
    /// # Errors
    /// The request does not come from our page, or other gateways cannot be reached.
    pub async fn sign_out(&self, request: &request::Parts) -> Result<HeaderValue, Rejection> {
        self.hosts.check_own_page(request)?;
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.close(&request.headers, is_secure).await
    }

    /// Returns whether every request of this connection needs a token.
    pub fn demands_token(&self, peer: ConnectionUser) -> bool {
        peer != ConnectionUser::OwnSocket && (self.demands_token || peer != ConnectionUser::Owner)
    }

    /// Returns why a token is needed, and what to do.
    fn demand(&self, peer: ConnectionUser) -> String {
        match self.demands_token {
            true => "a token is needed: send it as `Authorization: Bearer TOKEN`".to_owned(),
            false => peer.demand(),
        }
    }

    /// Returns the tokens of this gateway, and those that others share with it.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Returns the other gateways, if there are any.
    pub fn peers(&self) -> Option<&dyn Peers> {
        self.peers.as_deref()
    }

    /// Returns whether a bearer token must be valid even if none is required.
    fn judges(&self, secret: &str) -> bool {
        self.jwt.is_some() || secret.starts_with(tokens::PREFIX)
    }

    async fn admit_token(
        &self,
        request: &request::Parts,
        secret: &str,
    ) -> Result<AdmittedRequest, Rejection> {
        let hash = tokens::hash(secret);
        let token = match self.tokens.find_hash(&hash) {
            Some(token) => token,
            None => self.new_grant(secret).await.ok_or_else(unknown)?,
        };
        match &token.entry().oauth {
            Some(grant) => self.admit_grant(request, &token, grant, hash).await,
            None => self.admit_known(hash).await,
        }
    }

    /// Admits the bearer of a token of `token new`.
    pub(crate) async fn admit_known(&self, hash: [u8; 32]) -> Result<AdmittedRequest, Rejection> {
        let token = self.tokens.find_hash(&hash).ok_or_else(unknown)?;
        if token.entry().oauth.is_some() {
            let text = "the token is that of an OAuth client, which cannot sign in";
            return Err(Rejection::InvalidToken(text.to_owned()));
        }
        let share = token.take_share(self.peers()).await?;
        Ok(AdmittedRequest { caller: token.caller(), share, credential: Credential::Token(hash) })
    }

    /// Returns the origin of a foreign page that the settings allow.
    pub fn foreign_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        self.hosts.foreign_page(headers)
    }

    /// Checks that host and origin are ours.
    pub fn check_source(&self, request: &request::Parts) -> Result<(), Rejection> {
        self.hosts.check(request)
    }

    /// Like [`check_source`](Self::check_source), for the console's page, which other sites may link to.
    pub fn check_visit(&self, request: &request::Parts) -> Result<(), Rejection> {
        self.hosts.check_visit(request)
    }

    /// Returns the settings of JWTs, if they are accepted.
    pub fn jwt(&self) -> Option<&JwtConfig> {
        self.jwt.as_ref().map(Jwt::config)
    }

    /// Returns our URL as the client of this request sees it.
    pub fn base_url(&self, request: &request::Parts) -> Result<String, Rejection> {
        if let Some(url) = &self.public_url {
            return Ok(url.clone());
        }
        let scheme = if self.is_tls { "https" } else { "http" };
        let host = hosts::host(&request.headers, &request.uri)?;
        Ok(format!("{scheme}://{host}"))
    }
}

fn unknown() -> Rejection {
    Rejection::InvalidToken("the token is not known".to_owned())
}

/// Parses a URL of scheme and host, to which paths are appended.
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

/// Returns the bearer token of the request, if it has one.
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
