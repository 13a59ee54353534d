//! Who may call: tokens, JWTs, rates, sessions of the console, the hosts and pages that requests may come from.
//!
//! [`Access::admit`] decides about the head of an HTTP request and returns the [`Caller`]; serving HTTP is left to the gateway.
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_access::{Access, Config, NewToken, ConnectionUser, Tokens};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json"))?);
//! let secret = tokens.create(NewToken { name: "ada".to_owned(), ..Default::default() })?;
//! let config = Config { require_token: true, ..Default::default() };
//! let access = Access::new(&config, "127.0.0.1:7070".parse()?, tokens)?;
//!
//! let request = || http::Request::get("/api/tools").header("host", "127.0.0.1:7070");
//! let (head, ()) = request().header("authorization", format!("Bearer {secret}")).body(())?.into_parts();
//! let admitted = access.admit(&head, ConnectionUser::Unknown).await?;
//! assert_eq!(admitted.caller.name.as_deref(), Some("ada"));
//!
//! let (head, ()) = request().body(())?.into_parts();
//! let rejection = access.admit(&head, ConnectionUser::Unknown).await.err().expect("a token is required");
//! assert_eq!(rejection.status(), 401);
//! # Ok(()) }
//! ```

mod access;
mod config;
mod rejection;
mod caller;
mod peers;
mod connection_user;
mod locked_file;
mod tokens;
mod credential;
mod jwt;
pub mod oauth;
mod hosts;
mod rate;
mod sessions;
mod warnings;

pub use access::{Access, AccessError, AdmittedRequest};
pub use caller::{CALLER_HEADER, CLIENT_HEADER, Caller, CostBudget, PROFILE_HEADER};
pub use config::Config;
pub use connection_user::{ConnectionUser, UserLookup};
pub use credential::Credential;
pub use jwt::{JwtConfig, JwtError, KeysError, OneOrMany};
pub use oauth::OAuthConfig;
pub use peers::{PeerSlot, Peers, RateVerdict, SlotVerdict};
pub use rate::{QuotaPermit, Rate};
pub use rejection::Rejection;
pub use sessions::NewSession;
pub use tokens::{ChangedToken, NewToken, Token, TokenChange, TokenEntry, Tokens, TokensError};
