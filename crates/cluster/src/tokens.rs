//! Tokens that all gateways take: kept as hashes, by name; made and revoked once.

use std::sync::Arc;

use switchboard_access::{NewToken, Tokens, TokensError, tokens::TokenEntry};
use switchboard_workers::{Bucket, Cluster, names, wire};

use crate::{
    Error,
    mirror::{CreateOutcome, Mirror},
};

/// The tokens of a fleet, as commands change them.
pub struct ClusterTokens(Arc<Mirror>);

impl ClusterTokens {
    /// The tokens of the cluster.
    pub fn new(cluster: &Cluster) -> Self {
        Self(Mirror::new(cluster, Bucket::Tokens))
    }

    pub(crate) fn mirror(&self) -> &Arc<Mirror> {
        &self.0
    }

    /// Whether tokens are signed.
    pub fn has_key(&self) -> bool {
        self.0.is_signed()
    }

    /// Makes a token and returns its secret, which is kept nowhere.
    ///
    /// # Errors
    /// The name is taken, a setting makes no sense, or NATS cannot be reached.
    pub async fn create(&self, new: NewToken) -> Result<String, Error> {
        self.0.check_key("")?;
        let name = new.name.clone();
        let (entry, secret) = new.entry()?;
        match self.0.create(&names::token(&name), &entry).await? {
            CreateOutcome::Now => Ok(secret),
            CreateOutcome::Before(_) => Err(TokensError::Taken(name).into()),
        }
    }

    /// Makes a token worthless.
    ///
    /// # Errors
    /// There is none of this name, or NATS cannot be reached.
    pub async fn revoke(&self, name: &str) -> Result<(), Error> {
        self.0.check_key("")?;
        let key = names::token(name);
        match self.0.fetch(&key).await? {
            Some(_) => self.0.remove(&key).await,
            // One that is not signed is worth nothing, and is taken away all the same.
            None if self.0.unsigned(&key).await?.is_some() => self.0.remove(&key).await,
            None => Err(TokensError::Unknown(name.to_owned()).into()),
        }
    }

    /// The tokens that lie there without a signature of this cluster's present key, by name. Those that have none at all are worth
    /// nothing; anybody who can write to NATS may have put them there.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn unsigned(&self) -> Result<Vec<TokenEntry>, Error> {
        let mut found = Vec::new();
        for key in self.0.keys().await? {
            let value = self.0.unsigned(&key).await?;
            found.extend(value.and_then(|value| serde_json::from_slice::<TokenEntry>(&value).ok()));
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Signs a token that was made before the cluster had its present key.
    ///
    /// # Errors
    /// There is none of this name, it is signed with a key that we do not have, or NATS cannot be reached.
    pub async fn sign(&self, name: &str) -> Result<TokenEntry, Error> {
        let key = names::token(name);
        match self.0.unsigned(&key).await? {
            Some(value) => {
                let entry: TokenEntry = wire::read("a token", &value)?;
                self.0.put(&key, &entry).await?;
                Ok(entry)
            }
            None => match self.0.fetch(&key).await? {
                Some(value) => Ok(wire::read("a token", &value)?),
                None if self.0.keys().await?.contains(&key) => {
                    Err(Error::OtherKey(name.to_owned()))
                }
                None => Err(TokensError::Unknown(name.to_owned()).into()),
            },
        }
    }

    /// All that are known, by name.
    pub fn all(&self) -> Vec<TokenEntry> {
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
