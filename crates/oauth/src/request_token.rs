//! A token as requests carry it.

use switchboard_vault::Secret;
use url::Url;

use super::{
    dpop::{self, DpopKey},
    error::Error,
};

/// The token for one request, with the key that it is bound to, if it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestToken {
    pub(super) token: Secret,
    pub(super) dpop: Option<DpopKey>,
    pub(super) nonce: Option<String>,
}

impl RequestToken {
    /// The token itself.
    pub fn token(&self) -> &Secret {
        &self.token
    }

    /// Returns the headers for a request to the server: a proof is good for one request.
    ///
    /// # Errors
    /// The key is damaged, or the system has no random numbers.
    pub fn headers(&self, method: &str, url: &Url) -> Result<Vec<(&'static str, Secret)>, Error> {
        let text = self.token.expose();
        let Some(key) = &self.dpop else {
            return Ok(vec![("Authorization", format!("Bearer {text}").into())]);
        };
        let proof = key.proof(method, url, Some(&self.token), self.nonce.as_deref())?;
        Ok(vec![("Authorization", format!("DPoP {text}").into()), (dpop::PROOF, proof.into())])
    }
}
