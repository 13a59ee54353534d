//! Who may call: tokens, JWTs, rates, sessions of the console, the hosts and pages that requests may come from.
//!
//! [`Access::admit`] decides about the head of an HTTP request and returns the [`Caller`]; serving HTTP is left to the gateway.

mod access;
mod config;
mod rejection;
mod caller;
mod peers;
mod peer;
pub mod tokens;
mod credential;
mod jwt;
mod hosts;
mod rate;
mod sessions;
mod warnings;

pub use access::{Access, AccessError, Admitted};
pub use caller::Caller;
pub use config::Config;
pub use credential::Credential;
pub use jwt::{JwtConfig, JwtError, KeysError, OneOrMany};
pub use peer::{Peer, UserLookup};
pub use peers::{Peers, RateVerdict};
pub use rate::{Rate, Share};
pub use rejection::Rejection;
pub use sessions::NewSession;
pub use tokens::{NewToken, Token, Tokens, TokensError};
