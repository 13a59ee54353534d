//! How often one request is sent, and with which token.

use std::mem::replace;

use super::{
    authorizer::Authorizer,
    challenge::Challenge,
    request_token::RequestToken,
    status::{NoToken, Remedy, SignInNeeded},
};

/// How often a request is sent again with a new token: one that somebody else got meanwhile may have ended too.
const NEW_TOKENS: usize = 2;

/// The attempts of one request: a server does not handle a request whose token it refuses, so it may be sent again.
pub struct RequestAttempts<'a> {
    authorizer: &'a Authorizer,
    token: Option<RequestToken>,
    new_tokens: usize,
    has_new_proof: bool,
}

impl<'a> RequestAttempts<'a> {
    /// Takes the token of the sign-in, if there is one.
    ///
    /// # Errors
    /// Fails if the caller must have a token and has none.
    pub async fn begin(authorizer: &'a Authorizer) -> Result<Self, NoToken> {
        let mut token = authorizer.token().await;
        if token.is_none() && authorizer.is_personal() {
            token = match authorizer.missing().await {
                Remedy::Retry(token) | Remedy::NewProof(token) => Some(token),
                Remedy::SignIn(needed) => return Err(NoToken::SignIn(needed)),
                Remedy::Unavailable(reason) => return Err(NoToken::Unavailable(reason)),
            };
        }
        Ok(Self { authorizer, token, new_tokens: 0, has_new_proof: false })
    }

    /// Returns the token for the next attempt; `None` if nobody has signed in.
    pub fn token(&self) -> Option<&RequestToken> {
        self.token.as_ref()
    }

    /// Notes the nonce that a response has, which the next proof is to have.
    pub fn note_nonce(&self, nonce: &str) {
        self.authorizer.note_nonce(nonce);
    }

    /// Gets another token, as the server asks for one. The request is then to be sent again.
    ///
    /// # Errors
    /// Nobody has signed in, or the server has refused the new token too.
    pub async fn refused(&mut self, challenge: Challenge) -> Result<(), NoToken> {
        let remedy = self.authorizer.refused(challenge, self.token.as_ref()).await;
        let (retry, is_again) = match remedy {
            Remedy::Retry(renewed) => {
                self.new_tokens += 1;
                (renewed, self.new_tokens > NEW_TOKENS)
            }
            Remedy::NewProof(same) => (same, replace(&mut self.has_new_proof, true)),
            Remedy::SignIn(needed) => return Err(NoToken::SignIn(needed)),
            Remedy::Unavailable(reason) => return Err(NoToken::Unavailable(reason)),
        };
        if is_again {
            return Err(NoToken::SignIn(SignInNeeded::Missing));
        }
        self.token = Some(retry);
        Ok(())
    }
}
