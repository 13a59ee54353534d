//! The tokens of this machine, and those that all gateways of a cluster take.

use std::sync::Arc;

use switchboard_access::{NewToken, Tokens, TokensError, tokens::TokenEntry};
use switchboard_cluster::{Error, tokens::ClusterTokens};

/// Where a command looks for tokens. With a cluster, new ones are made there.
pub(super) struct TokenStores {
    pub(super) own: Arc<Tokens>,
    pub(super) fleet: Option<ClusterTokens>,
}

impl TokenStores {
    /// Makes a token and returns its secret.
    ///
    /// # Errors
    /// The name is taken, a setting makes no sense, or it cannot be kept.
    pub(super) async fn create(&self, new: NewToken) -> Result<String, Error> {
        let Some(fleet) = &self.fleet else { return Ok(self.own.create(new)?) };
        // Records call callers by name, so one of the file must not be meant as well.
        match self.own.all().iter().any(|token| token.entry().name == new.name) {
            true => Err(TokensError::Taken(new.name).into()),
            false => fleet.create(new).await,
        }
    }

    /// Makes a token worthless, wherever it is.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be changed.
    pub(super) async fn revoke(&self, name: &str) -> Result<(), Error> {
        let Some(fleet) = &self.fleet else { return Ok(self.own.revoke(name)?) };
        match (fleet.revoke(name).await, self.own.revoke(name)) {
            (Err(Error::Token(TokensError::Unknown(_))), own) => Ok(own?),
            (Ok(()), Err(TokensError::Unknown(_))) => Ok(()),
            (fleet, own) => fleet.and(own.map_err(Error::from)),
        }
    }

    /// All of them, by name.
    pub(super) fn all(&self) -> Vec<TokenEntry> {
        let own = self.own.all();
        let mut all: Vec<_> = own.iter().map(|token| token.entry().clone()).collect();
        all.extend(self.fleet.iter().flat_map(ClusterTokens::all));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
}
