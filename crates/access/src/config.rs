//! The settings that decide who may call.

use crate::{JwtConfig, OAuthConfig};

/// What `[serve]` says about callers.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Host names by which clients may reach us, besides the address itself.
    pub hosts: Vec<String>,
    /// The URL that clients use if there is a proxy before us, for instance `https://tools.example`.
    pub public_url: Option<String>,
    /// Web pages that may call us, as origins.
    pub origins: Vec<String>,
    /// Whether a token is required on loopback too, of programs of the same user.
    pub require_token: bool,
    /// The issuer of JWTs that are accepted besides our own tokens.
    pub jwt: Option<JwtConfig>,
    /// The settings of our own authorization server, if we are one.
    pub oauth: Option<OAuthConfig>,
    /// Whether the process itself terminates TLS.
    pub is_tls: bool,
}
