//! The gateway's settings.

use std::{num::NonZeroUsize, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, HumanSize};

use switchboard_access::{JwtConfig, OAuthConfig};
use switchboard_mcp_server::DiscoveryMode;

use crate::tls::TlsConfig;

/// The settings of `[serve]`.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen: an address and a port.
    pub listen: String,
    /// Host names by which clients may reach us, besides the address itself.
    pub hosts: Vec<String>,
    /// Our URL if there is a proxy before us, for instance `https://tools.example`.
    pub public_url: Option<String>,
    /// Web pages that may call us, as origins; `*` is not one.
    pub origins: Vec<String>,
    /// Whether a token is demanded on loopback too, of programs of the same user.
    pub require_token: bool,
    /// The issuer of JWTs that are accepted besides our own tokens.
    pub jwt: Option<JwtConfig>,
    /// Makes the gateway its own authorization server, for clients that can only do OAuth.
    pub oauth: Option<OAuthConfig>,
    /// Which tools MCP clients list: all, or `tool_search` and what calls the tools that it finds.
    pub discovery: DiscoveryMode,
    /// Globs of the tools that are listed besides `tool_search`.
    pub pinned: Vec<String>,
    /// CEL expressions of which one must be true for a call; if there are none, every call passes.
    pub allow_if: Vec<String>,
    /// Expressions of which none may say yes to a call; stronger than `allow_if`.
    pub deny_if: Vec<String>,
    /// The certificate, if we terminate TLS ourselves.
    pub tls: Option<TlsConfig>,
    /// How large a request may be.
    pub max_body: HumanSize,
    /// How large the head of a request may be.
    pub max_head: HumanSize,
    /// How many headers a request may have.
    pub max_headers: usize,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How long a client may take to send the head of a request, and to agree on TLS.
    pub header_timeout: HumanDuration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: HumanDuration,
    /// How long a client may leave an answer unread.
    pub write_timeout: HumanDuration,
    /// How long calls may continue after we are told to stop.
    pub drain: HumanDuration,
    /// How many threads serve; by default half as many as there are cores, and at least two. The other half is for those that share the
    /// machine: the servers we start, and clients.
    pub threads: Option<NonZeroUsize>,
    /// Whether tokens with the admin right may add and remove servers, which start programs as the user of the gateway.
    pub admins_add_servers: bool,
    /// Whether each request leaves a line in the log.
    pub access_log: bool,
}

impl Config {
    /// Returns the settings for authentication and authorisation.
    pub fn access(&self) -> switchboard_access::Config {
        switchboard_access::Config {
            hosts: self.hosts.clone(),
            public_url: self.public_url.clone(),
            origins: self.origins.clone(),
            require_token: self.require_token,
            jwt: self.jwt.clone(),
            oauth: self.oauth.clone(),
            is_tls: self.tls.is_some(),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let seconds = |seconds| HumanDuration(Duration::from_secs(seconds));
        Self {
            listen: "127.0.0.1:7300".to_owned(),
            hosts: Vec::new(),
            public_url: None,
            origins: Vec::new(),
            require_token: false,
            jwt: None,
            oauth: None,
            discovery: DiscoveryMode::List,
            pinned: Vec::new(),
            allow_if: Vec::new(),
            deny_if: Vec::new(),
            tls: None,
            max_body: HumanSize(4 << 20),
            max_head: HumanSize(64 << 10),
            max_headers: 100,
            max_connections: 20_000,
            header_timeout: seconds(30),
            body_timeout: seconds(30),
            write_timeout: seconds(60),
            drain: seconds(10),
            threads: None,
            admins_add_servers: false,
            access_log: false,
        }
    }
}
