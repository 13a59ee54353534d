//! What is known of a sign-in, and what to do if there is none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_toolcall::time::unix_seconds;

use super::{credential::StoredSignIn, request_token::RequestToken};

/// How many seconds before its end a token is renewed, while requests still use it.
const AHEAD: u64 = 60;
/// How many seconds before its end a token is not sent any more.
const LAST: u64 = 5;

/// What to do about a request that the server refused.
#[derive(Debug)]
pub enum Remedy {
    /// Send it again, once, with this token.
    Retry(RequestToken),
    /// Send it again, once, with the same token and a proof that has the server's nonce.
    NewProof(RequestToken),
    /// A person has to do something.
    SignIn(SignInNeeded),
    /// No token can be got for now, and it is of no use to sign in.
    Unavailable(String),
}

/// Why there is no token for a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// A person has to do something.
    #[error("{0}")]
    SignIn(SignInNeeded),
    /// No token can be got for now, and it is of no use to sign in.
    #[error("its sign-in cannot be used now: {0}")]
    Unavailable(String),
}

impl From<NoToken> for Remedy {
    fn from(why: NoToken) -> Self {
        match why {
            NoToken::SignIn(needed) => Self::SignIn(needed),
            NoToken::Unavailable(reason) => Self::Unavailable(reason),
        }
    }
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
#[non_exhaustive]
pub enum SignInNeeded {
    /// Nobody has signed in, or the sign-in has expired.
    #[error("sign-in required")]
    Missing,
    /// The server has moved to another authorization server.
    #[error("sign-in required at another authorization server")]
    Moved,
    /// The sign-in has expired, and renewing it failed.
    #[error("sign-in expired: {0}")]
    Ended(String),
    /// The sign-in lacks scopes.
    #[error("sign-in required with more scopes: {}", .0.join(" "))]
    Scopes(Vec<String>),
    /// There is no token for us, and none is got by signing in.
    #[error("it grants no access: {0}")]
    NoAccess(String),
}

impl StoredSignIn {
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

    /// Whether the end of its token is so near that it is renewed.
    pub(super) fn ends_soon(&self) -> bool {
        self.ends_within(AHEAD)
    }

    /// Whether its token has ended, or may have when a request with it arrives.
    pub(super) fn has_ended(&self) -> bool {
        self.ends_within(LAST)
    }

    /// Whether its token ends within so many seconds, or within the last quarter of its life if that is less: one that lives
    /// for half a minute is not renewed at each request.
    fn ends_within(&self, seconds: u64) -> bool {
        self.expires_at.is_some_and(|end| {
            let quarter = self.obtained_at.map(|start| end.saturating_sub(start) / 4);
            end <= unix_seconds().saturating_add(seconds.min(quarter.unwrap_or(u64::MAX)))
        })
    }
}
