//! What is too large for a message: it lies in the object store, and the message says where.

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::AsyncReadExt;

use crate::{Cluster, Error, wire};

/// What a message may have beside its content: headers, and what surrounds the content.
const ROOM: usize = 32 << 10;
/// The largest message of a server that has not yet said how large it may be.
const USUAL_LIMIT: usize = 1 << 20;

/// A value where it is, or the name under which it lies in the object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placed<T> {
    /// The value.
    Here(T),
    /// Where it lies.
    Large(String),
}

impl<T: Serialize + DeserializeOwned> Placed<T> {
    /// The value, laid into the object store as `name` where it is too large for a message.
    ///
    /// # Errors
    /// It is too large, and the object store does not take it.
    pub async fn put(cluster: &Cluster, name: &str, value: T) -> Result<Self, Error> {
        let bytes = wire::write(&value)?;
        if fits(cluster, bytes.len()) {
            return Ok(Self::Here(value));
        }
        put(cluster, name, &bytes).await?;
        Ok(Self::Large(name.to_owned()))
    }

    /// The value, fetched where it lies elsewhere; `what` names it in the error.
    ///
    /// # Errors
    /// It cannot be fetched, or is something else.
    pub async fn get(self, cluster: &Cluster, what: &'static str) -> Result<T, Error> {
        match self {
            Self::Here(value) => Ok(value),
            Self::Large(name) => wire::read(what, &get(cluster, &name).await?),
        }
    }

    /// Forgets what lies in the object store.
    ///
    /// # Errors
    /// The object store cannot be reached.
    pub async fn forget(&self, cluster: &Cluster) -> Result<(), Error> {
        match self {
            Self::Here(_) => Ok(()),
            Self::Large(name) => delete(cluster, name).await,
        }
    }
}

/// Whether a message with so many bytes is not too large for the servers.
pub fn fits(cluster: &Cluster, bytes: usize) -> bool {
    let limit = match cluster.client().server_info().max_payload {
        0 => USUAL_LIMIT,
        limit => limit,
    };
    bytes <= limit.saturating_sub(ROOM).max(limit / 2)
}

/// Lays something into the object store.
///
/// # Errors
/// The servers cannot be reached, or do not take it.
pub async fn put(cluster: &Cluster, name: &str, mut bytes: &[u8]) -> Result<(), Error> {
    let stored = cluster.large().await?.put(name, &mut bytes).await;
    stored.map(drop).map_err(|error| Error::refused(format!("store `{name}`"))(error.into()))
}

/// Fetches it.
///
/// # Errors
/// It is not there, or the servers cannot be reached.
pub async fn get(cluster: &Cluster, name: &str) -> Result<Bytes, Error> {
    let refused = |error| Error::refused(format!("fetch `{name}`"))(error);
    let mut object =
        cluster.large().await?.get(name).await.map_err(|error| refused(error.into()))?;
    let mut bytes = Vec::with_capacity(object.info().size);
    object.read_to_end(&mut bytes).await.map_err(|error| refused(error.into()))?;
    Ok(bytes.into())
}

/// Forgets it.
///
/// # Errors
/// The servers cannot be reached.
pub async fn delete(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let deleted = cluster.large().await?.delete(name).await;
    deleted.map_err(|error| Error::refused(format!("forget `{name}`"))(error.into()))
}
