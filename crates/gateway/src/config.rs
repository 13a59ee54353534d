//! The gateway's settings.

use std::{num::NonZeroUsize, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, Size};

use switchboard_access::JwtConfig;

use crate::tls::TlsConfig;

/// The settings of `[serve]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen: an address and a port.
    pub listen: String,
    /// Names by which clients may reach us, beside the address itself.
    pub hosts: Vec<String>,
    /// Where clients reach us, where a proxy stands before us; `https://tools.example`, for instance.
    pub public_url: Option<String>,
    /// Web pages that may call us, as origins; `*` is not one.
    pub origins: Vec<String>,
    /// Whether a token is demanded on loopback too, of programs of the same user.
    pub require_token: bool,
    /// Whose tokens are taken beside our own.
    pub jwt: Option<JwtConfig>,
    /// Expressions of which one must say yes to a call; where there is none, no yes is needed.
    pub allow_if: Vec<String>,
    /// Expressions of which none may say yes to a call; stronger than `allow_if`.
    pub deny_if: Vec<String>,
    /// The certificate, where we speak TLS ourselves.
    pub tls: Option<TlsConfig>,
    /// How large a request may be.
    pub max_body: Size,
    /// How large the head of a request may be.
    pub max_head: Size,
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
    /// How long calls may go on after we are told to stop.
    pub drain: HumanDuration,
    /// How many threads serve; by default half as many as there are cores, and at least two. The other half is for those that share the
    /// machine: the servers we start, and clients.
    pub threads: Option<NonZeroUsize>,
    /// Whether each request leaves a line in the log.
    pub access_log: bool,
}

impl Config {
    /// Returns the settings that decide who may call.
    pub fn access(&self) -> switchboard_access::Config {
        switchboard_access::Config {
            hosts: self.hosts.clone(),
            public_url: self.public_url.clone(),
            origins: self.origins.clone(),
            require_token: self.require_token,
            jwt: self.jwt.clone(),
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
            allow_if: Vec::new(),
            deny_if: Vec::new(),
            tls: None,
            max_body: Size(4 << 20),
            max_head: Size(64 << 10),
            max_headers: 100,
            max_connections: 20_000,
            header_timeout: seconds(30),
            body_timeout: seconds(30),
            write_timeout: seconds(60),
            drain: seconds(10),
            threads: None,
            access_log: false,
        }
    }
}
