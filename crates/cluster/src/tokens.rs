//! Tokens that all gateways accept: stored as hashes, by name; created and revoked in one place.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_access::{ChangedToken, NewToken, TokenChange, TokenEntry, Tokens, TokensError};
use switchboard_workers::{Bucket, Cluster, names, wire};

use crate::{
    Error,
    mirror::{CreateOutcome, Mirror, ValueChange},
};

/// The tokens of a cluster, for commands that change them.
pub struct ClusterTokens(Arc<Mirror>);

impl ClusterTokens {
    /// Creates the view of a cluster's tokens.
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

    /// Creates a token and returns its secret, which is not stored.
    ///
    /// # Errors
    /// Fails if the name is taken, a setting is invalid, or NATS cannot be reached.
    pub async fn create(&self, new: NewToken) -> Result<String, Error> {
        self.0.check_key("")?;
        let name = new.name.clone();
        let (entry, secret) = new.entry()?;
        match self.0.create(&names::token(&name), &entry).await? {
            CreateOutcome::Now => Ok(secret),
            CreateOutcome::Before(_) => Err(TokensError::Taken(name).into()),
        }
    }

    /// Stores an entry. Returns false if its name is taken.
    pub(crate) async fn insert(&self, entry: &TokenEntry) -> Result<bool, Error> {
        self.0.check_key("")?;
        let created = self.0.create(&names::token(&entry.name), entry).await?;
        Ok(matches!(created, CreateOutcome::Now))
    }

    /// Returns the token with this name, read from NATS.
    pub(crate) async fn find(&self, name: &str) -> Option<TokenEntry> {
        let value = self.0.fetch(&names::token(name)).await.ok()??;
        serde_json::from_slice(&value).ok()
    }

    /// Changes the token with this name, if there is one.
    pub(crate) async fn change(&self, name: &str, change: &TokenChange) -> Result<(), Error> {
        self.0.check_key("")?;
        let decide = |value: &Bytes| {
            let entry: TokenEntry = wire::read("a token", value)?;
            Ok(match change(&entry) {
                ChangedToken::Same => ValueChange::Same,
                ChangedToken::Put(entry) => ValueChange::Put(entry),
                ChangedToken::Gone => ValueChange::Gone,
            })
        };
        self.0.change(&names::token(name), decide).await
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// Fails if there is no token with this name, or NATS cannot be reached.
    pub async fn revoke(&self, name: &str) -> Result<(), Error> {
        self.0.check_key("")?;
        let key = names::token(name);
        match self.0.fetch(&key).await? {
            Some(_) => self.0.remove(&key).await,
            // An unsigned token is not accepted, but is removed all the same.
            None if self.0.unsigned(&key).await?.is_some() => self.0.remove(&key).await,
            None => Err(TokensError::Unknown(name.to_owned()).into()),
        }
    }

    /// Returns the tokens that are not signed with the cluster's current key, by name. Those without any signature are not
    /// accepted: anybody who can write to NATS may have put them there.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn unsigned(&self) -> Result<Vec<TokenEntry>, Error> {
        let mut found = Vec::new();
        for key in self.0.keys().await? {
            let value = self.0.unsigned(&key).await?;
            found.extend(value.and_then(|value| serde_json::from_slice::<TokenEntry>(&value).ok()));
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Signs a token that was created before the cluster had its current key.
    ///
    /// # Errors
    /// Fails if there is no token with this name, it is signed with a key that we do not have, or NATS cannot be reached.
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

    /// Returns all tokens, by name.
    pub fn all(&self) -> Vec<TokenEntry> {
        self.0.all("").into_iter().map(|(_, entry)| entry).collect()
    }

    /// Keeps the tokens of a gateway in sync with those of the cluster. Ends only when dropped.
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
