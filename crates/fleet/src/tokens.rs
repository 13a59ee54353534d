//! Tokens that all gateways take: kept as hashes, by name; made and revoked once.

use std::sync::Arc;

use switchboard_gateway::access::{NewToken, Tokens, TokensError, tokens::Entry};
use switchboard_workers::{Bucket, Cluster, names};

use crate::{
    Error,
    mirror::{Created, Mirror},
};

/// The tokens of a fleet, as commands change them.
pub struct FleetTokens(Arc<Mirror>);

impl FleetTokens {
    /// The tokens of the cluster.
    pub fn new(cluster: &Cluster) -> Self {
        Self(Mirror::new(cluster, Bucket::Tokens))
    }

    pub(crate) fn mirror(&self) -> &Arc<Mirror> {
        &self.0
    }

    /// Makes a token and returns its secret, which is kept nowhere.
    ///
    /// # Errors
    /// The name is taken, a setting makes no sense, or NATS cannot be reached.
    pub async fn create(&self, new: NewToken) -> Result<String, Error> {
        let name = new.name.clone();
        let (entry, secret) = new.entry()?;
        match self.0.create(&names::token(&name), &entry).await? {
            Created::Now => Ok(secret),
            Created::Before(_) => Err(TokensError::Taken(name).into()),
        }
    }

    /// Makes a token worthless.
    ///
    /// # Errors
    /// There is none of this name, or NATS cannot be reached.
    pub async fn revoke(&self, name: &str) -> Result<(), Error> {
        let key = names::token(name);
        match self.0.fetch(&key).await? {
            Some(_) => self.0.remove(&key).await,
            None => Err(TokensError::Unknown(name.to_owned()).into()),
        }
    }

    /// All that are known, by name.
    pub fn all(&self) -> Vec<Entry> {
        self.0.all("").into_iter().map(|(_, entry)| entry).collect()
    }

    /// Keeps the tokens of a gateway as those of the fleet are. Ends only when dropped.
    pub(crate) async fn keep_up(self: Arc<Self>, tokens: Arc<Tokens>) {
        let mut changes = self.0.changes();
        loop {
            if *changes.borrow_and_update() > 0 {
                tokens.share(self.all());
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
