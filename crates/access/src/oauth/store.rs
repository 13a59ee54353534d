//! Where grants are stored: among the tokens of this machine, or of the cluster.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use super::OAuthError;
use crate::{
    Access,
    tokens::{ChangedToken, TokenEntry},
};

impl Access {
    /// Stores a new grant. Returns false if its name is taken.
    pub(super) async fn create_grant(&self, entry: TokenEntry) -> Result<bool, OAuthError> {
        let Some(peers) = self.peers() else {
            let tokens = self.tokens.clone();
            return joined(spawn_blocking(move || tokens.insert(entry)).await);
        };
        // Records identify callers by name, so a token of this machine must not have the same one.
        match self.tokens.all().iter().any(|token| token.entry().name == entry.name) {
            true => Ok(false),
            false => peers.create_token(entry).await.map_err(|error| unavailable(&*error)),
        }
    }

    /// Changes the grant with this name as a whole. Returns what `change` returned for its present state; `None` if there is no such
    /// grant.
    pub(super) async fn change_grant<T: Send + 'static>(
        &self,
        name: &str,
        change: impl Fn(&TokenEntry) -> (ChangedToken, T) + Send + Sync + 'static,
    ) -> Result<Option<T>, OAuthError> {
        let outcome = Arc::new(Mutex::new(None));
        let told = outcome.clone();
        let change = Arc::new(move |entry: &TokenEntry| {
            let (changed, said) = change(entry);
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
            changed
        });
        match self.peers() {
            Some(peers) => {
                peers.change_token(name, change).await.map_err(|error| unavailable(&*error))?;
            }
            None => {
                let (tokens, name) = (self.tokens.clone(), name.to_owned());
                let change = change as crate::tokens::TokenChange;
                joined(spawn_blocking(move || tokens.change(&name, &change)).await)?;
            }
        }
        Ok(outcome.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// Removes grants that are over.
    pub(super) async fn sweep_grants(&self) -> Result<(), OAuthError> {
        let is_over =
            |entry: &TokenEntry| entry.oauth.as_ref().is_some_and(|grant| grant.is_over());
        let over: Vec<_> =
            self.tokens.all().into_iter().filter(|token| is_over(token.entry())).collect();
        for token in over {
            let swept = self.change_grant(&token.entry().name, move |entry| match is_over(entry) {
                true => (ChangedToken::Gone, ()),
                false => (ChangedToken::Same, ()),
            });
            swept.await?;
        }
        Ok(())
    }
}

fn joined<T>(
    done: Result<Result<T, crate::TokensError>, tokio::task::JoinError>,
) -> Result<T, OAuthError> {
    match done {
        Ok(done) => done.map_err(|error| unavailable(&error)),
        Err(error) => Err(unavailable(&error)),
    }
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> OAuthError {
    tracing::warn!(error, "what OAuth clients may do cannot be stored");
    OAuthError::unavailable("it cannot be stored now; try again")
}
