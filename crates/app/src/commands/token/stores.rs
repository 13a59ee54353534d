//! The tokens of this machine, and those that all gateways of a cluster accept.

use std::sync::Arc;

use switchboard_access::{NewToken, TokenEntry, Tokens, TokensError};
use switchboard_cluster::{ClusterTokens, Error};

/// Where a command looks for tokens. If there is a cluster, new tokens are created there.
pub(super) struct TokenStores {
    pub(super) own: Arc<Tokens>,
    pub(super) cluster: Option<ClusterTokens>,
}

impl TokenStores {
    /// Makes a token and returns its secret.
    ///
    /// # Errors
    /// The name is taken, a setting is invalid, or the token cannot be stored.
    pub(super) async fn create(&self, new: NewToken) -> Result<String, Error> {
        let Some(cluster) = &self.cluster else { return Ok(self.own.create(new)?) };
        // Records identify callers by name, so a token of this machine must not have the same one.
        match self.own.all().iter().any(|token| token.entry().name == new.name) {
            true => Err(TokensError::Taken(new.name).into()),
            false => cluster.create(new).await,
        }
    }

    /// Revokes a token in both stores.
    ///
    /// # Errors
    /// There is no token of this name, or it cannot be changed.
    pub(super) async fn revoke(&self, name: &str) -> Result<(), Error> {
        let Some(cluster) = &self.cluster else { return Ok(self.own.revoke(name)?) };
        match (cluster.revoke(name).await, self.own.revoke(name)) {
            (Err(Error::Token(TokensError::Unknown(_))), own) => Ok(own?),
            (Ok(()), Err(TokensError::Unknown(_))) => Ok(()),
            (cluster, own) => cluster.and(own.map_err(Error::from)),
        }
    }

    /// All of them, by name.
    pub(super) fn all(&self) -> Vec<TokenEntry> {
        let own = self.own.all();
        let mut all: Vec<_> = own.iter().map(|token| token.entry().clone()).collect();
        all.extend(self.cluster.iter().flat_map(ClusterTokens::all));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
}
