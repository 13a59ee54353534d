//! What is known of a sign-in, and what to do if there is none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{credential::Credential, request_token::RequestToken, token::now};

/// What to do about a request that the server refused.
#[derive(Debug)]
pub enum Remedy {
    /// Send it again, once, with this token.
    Retry(RequestToken),
    /// Send it again, once, with the same token and a proof that has the server's nonce.
    NewProof(RequestToken),
    /// A person has to do something.
    SignIn(SignInNeeded),
}

/// What is known of a sign-in that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInStatus {
    /// Who gave it.
    pub issuer: String,
    /// Who signed in, as the issuer calls them; `None` if it does not say.
    pub account: Option<String>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// When its token ends, if that is known.
    pub until: Option<SystemTime>,
    /// Whether it is then renewed without a person.
    pub renews: bool,
}

/// Why a person has to sign in, or to change the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInNeeded {
    /// Nobody has, or the sign-in has ended.
    #[error("it wants a sign-in")]
    Missing,
    /// The server has moved to another authorization server.
    #[error("it wants a new sign-in, at another authorization server")]
    Moved,
    /// The sign-in has ended, and renewing it failed.
    #[error("its sign-in has ended: {0}")]
    Ended(String),
    /// The sign-in lacks scopes.
    #[error("it wants a sign-in with more scopes: {}", .0.join(" "))]
    Scopes(Vec<String>),
    /// There is no token for us, and none is got by signing in.
    #[error("it gives us no access: {0}")]
    NoAccess(String),
}

impl Credential {
    /// What may be shown of it.
    pub fn status(&self) -> SignInStatus {
        SignInStatus {
            issuer: self.issuer.clone(),
            account: self.account.clone(),
            scopes: self.scopes.clone(),
            until: self.expires_at.map(|end| UNIX_EPOCH + Duration::from_secs(end)),
            renews: self.refresh_token.is_some(),
        }
    }

    /// Whether its token ends within so many seconds.
    pub(super) fn ends_within(&self, seconds: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now().saturating_add(seconds))
    }
}
