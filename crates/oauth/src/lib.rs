//! An OAuth 2.1 client for MCP servers and HTTP APIs, as MCP 2025-11-25 and 2026-07-28 describe it (SPEC AU-1).
//!
//! [`SignIn`] signs in: discovery, a client id, the authorization code flow with PKCE or the device flow. What comes of it is a
//! [`StoredSignIn`] in a [`CredentialStore`], bound to the issuer that gave it. An [`Authorizer`] puts its token into the requests to one
//! server and renews it, [`RequestAttempts`] decides which of them are sent again. [`SignInPages`] are the addresses at which
//! callers of a gateway sign in. Opening a browser and asking people is left to the caller.
//!
//! ```
//! use switchboard_oauth::Challenge;
//!
//! let header = r#"Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource", scope="read write""#;
//! let challenge = Challenge::of_response(401, [header]).unwrap();
//! assert_eq!(challenge.scopes.unwrap(), ["read", "write"]);
//! assert!(Challenge::of_response(401, ["Basic"]).is_none());
//! ```

mod error;
mod secret_observer;
mod config;
mod server_auth;
mod caller_key;
mod http;
mod challenge;
mod metadata;
mod client;
mod client_issuer;
mod random;
mod jwt;
mod dpop;
mod token;
mod credential;
mod credential_store;
mod loopback;
mod sign_in;
mod pending;
mod device;
mod grant;
mod status;
mod request_token;
mod authorizer;
mod attempts;
mod sign_in_pages;
mod caller_sign_in;
mod deps;

pub use attempts::RequestAttempts;
pub use authorizer::Authorizer;
pub use caller_key::CallerKey;
pub use caller_sign_in::{NotSignedIn, opens_pages, principal_of};
pub use challenge::{Challenge, DpopDemand};
pub use config::{GrantKind, IdpConfig, OauthConfig, SubjectTokenType};
pub use credential::{CredentialKey, Owner, StoredSignIn};
pub use credential_store::{CredentialLock, CredentialStore, StoreFuture, VaultCredentials};
pub use deps::OauthDeps;
pub use device::DeviceCode;
pub use dpop::NONCE as DPOP_NONCE;
pub use error::Error;
pub use http::HttpClient;
pub use jwt::SigningAlgorithm;
pub use loopback::{LoopbackListener, WaitingBrowser};
pub use pending::{OutgoingAuthorizationRequest, PendingSignIn};
pub use request_token::RequestToken;
pub use secret_observer::{SecretGuard, SecretObserver};
pub use server_auth::ServerAuth;
pub use sign_in::{SignIn, revoke};
pub use sign_in_pages::{
    BrowserRedirect, SharedPages, SignInPage, SignInPages, SignInTarget, TargetFinder,
};
pub use status::{NoToken, Remedy, SignInNeeded, SignInStatus};
pub use switchboard_vault::{Secret, Vault};
