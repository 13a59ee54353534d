//! The settings that decide who may call.

use crate::JwtConfig;

/// What `[serve]` says about callers.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Names by which clients may reach us, beside the address itself.
    pub hosts: Vec<String>,
    /// The address clients use if a proxy stands before us; `https://tools.example`, for instance.
    pub public_url: Option<String>,
    /// Web pages that may call us, as origins.
    pub origins: Vec<String>,
    /// Whether a token is demanded on loopback too, of programs of the same user.
    pub require_token: bool,
    /// Whose tokens are taken beside our own.
    pub jwt: Option<JwtConfig>,
    /// Whether connections are encrypted by the process itself.
    pub is_tls: bool,
}
