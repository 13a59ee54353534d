//! Who is signed in to an API, for commands and the gateway.

use std::sync::Arc;

use switchboard_oauth::{Error, SignInNeeded, SignInPage, SignInStatus, SignInTarget};
use switchboard_toolcall::Principal;

use crate::Api;

/// The sign-in that calls of one caller use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAccount {
    /// What is known of it; `None` if there is none.
    pub status: Option<SignInStatus>,
    /// Why somebody has to sign in, as the API last said; `None` if it did not.
    pub needed: Option<SignInNeeded>,
    /// How many callers are signed in, if each has its own.
    pub callers: Option<usize>,
}

impl Api {
    /// Returns the sign-in that calls of this caller use; `None` if the API is not signed in to, as far as is known.
    pub async fn account(&self, principal: &Principal) -> Option<ApiAccount> {
        let sign_in = self.sign_in()?;
        let (needed, status) = (sign_in.why_needed(principal), sign_in.status(principal).await);
        let callers = sign_in.callers().await;
        let is_known = needed.is_some() || status.is_some() || sign_in.is_expected();
        is_known.then_some(ApiAccount { status, needed, callers })
    }

    /// Opens the address at which a caller signs in; `None` if no gateway serves it.
    pub async fn open_sign_in(&self, principal: &Principal) -> Option<Arc<SignInPage>> {
        self.sign_in()?.open(principal).await
    }

    /// Returns what a caller signs in to; `None` if callers do not sign in to this API themselves.
    pub fn sign_in_target(&self, principal: &Principal) -> Option<Arc<dyn SignInTarget>> {
        self.sign_in()?.target(principal)
    }

    /// Signs one caller out: the sign-in is revoked and forgotten. Returns whether there was one.
    ///
    /// # Errors
    /// The store of sign-ins cannot be used.
    pub async fn sign_out(&self, principal: &Principal) -> Result<bool, Error> {
        match self.sign_in() {
            Some(sign_in) => sign_in.sign_out(principal).await,
            None => Ok(false),
        }
    }

    /// Uses the sign-ins that are stored now.
    pub async fn reload_sign_ins(&self) {
        if let Some(sign_in) = self.sign_in() {
            sign_in.reload().await;
        }
    }

    pub(crate) async fn end(&self) {
        if let Some(sign_in) = self.sign_in() {
            sign_in.end().await;
        }
    }
}
