//! An authorization server for MCP clients that can only do OAuth 2.1 (SPEC AU-4), without HTTP.
//!
//! A client is known by the URL of its metadata document, or registers itself. A person signs in, consents, and the client gets a
//! code, which it exchanges for a short access token and a refresh token that changes with each use. What a person allowed is a
//! [`Grant`]: it is stored as a token, is listed and revoked as one, and may never do more than the person.

mod admit;
mod authorize;
mod client;
mod client_document;
mod config;
mod consent;
mod error;
mod form;
mod grant;
mod oidc;
mod parameters;
mod person;
mod redirect;
mod registrations;
mod secret;
mod store;
mod token;

use crate::{Access, rate::Quota, tokens::Tokens};
use client_document::ClientDocuments;
use oidc::OidcSignIn;
use registrations::Registrations;

pub use authorize::{AuthorizationError, AuthorizationRequest};
pub use client::Client;
pub use config::OAuthConfig;
pub use consent::ConsentError;
pub use error::OAuthError;
pub use form::FormCookie;
pub use grant::{Grant, GrantUser};
pub use oidc::{OIDC_CALLBACK, OidcConfig, OidcRedirect, OidcSession};
pub use parameters::Parameters;
pub use person::Person;
pub(crate) use person::is_forwarded;
pub use token::TokenResponse;

/// The prefix of the names of grants, so that none can take a token's name.
pub(crate) const PREFIX: &str = "oauth:";

/// The scope of every access token: to call the tools that the person let the client have.
pub const SCOPE: &str = "tools";
/// The scope by which clients request a refresh token; all get one.
pub const OFFLINE: &str = "offline_access";

/// What an authorization server keeps.
pub(crate) struct OwnAuthorizationServer {
    config: OAuthConfig,
    documents: ClientDocuments,
    registrations: Registrations,
    /// Limits the registrations of all clients together.
    registering: Quota,
    /// Where people can sign in instead of typing a token.
    oidc: Option<OidcSignIn>,
    /// Whether the user of this machine needs no other sign-in.
    takes_local_user: bool,
}

impl OwnAuthorizationServer {
    pub(crate) fn new(
        config: OAuthConfig,
        tokens: &Tokens,
        is_local: bool,
        require_token: bool,
        issuer: Option<&str>,
    ) -> Self {
        let oidc = config.oidc.clone().zip(issuer);
        Self {
            oidc: oidc.map(|(oidc, issuer)| OidcSignIn::new(oidc, issuer)),
            documents: ClientDocuments::new(config.private_addresses),
            registrations: Registrations::beside(tokens.file()),
            registering: Quota::new(Some(config.registration_rate), None),
            takes_local_user: is_local && config.local_user.unwrap_or(!require_token),
            config,
        }
    }

    /// Returns whether the users of connections must be looked up even if a token is required.
    pub(crate) fn takes_local_user(&self) -> bool {
        self.takes_local_user
    }
}

impl Access {
    /// Returns the settings of the authorization server, if this gateway is one.
    pub fn oauth(&self) -> Option<&OAuthConfig> {
        self.oauth.as_ref().map(|oauth| &oauth.config)
    }

    fn server(&self) -> Result<&OwnAuthorizationServer, OAuthError> {
        let missing = || OAuthError::new("invalid_request", "`[serve.oauth]` is not configured");
        self.oauth.as_ref().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests;
