//! A value in a message or an entry, or in the object store if it is too large.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Cluster, Error, wire};

/// A value, or its name in the object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobPayload<T> {
    /// The value.
    Here(T),
    /// Its name in the object store.
    Large(String),
}

impl<T: Serialize + DeserializeOwned> JobPayload<T> {
    /// Wraps a value, storing it in the object store if it is too large for a message.
    pub(crate) async fn put(cluster: &Cluster, value: T) -> Result<Self, Error> {
        let bytes = wire::write(&value)?;
        match cluster.is_large(bytes.len()) {
            true => cluster.lay_down(&bytes).await.map(Self::Large),
            false => Ok(Self::Here(value)),
        }
    }

    /// Returns the value, fetching it from the object store if needed; `what` names it in errors.
    pub(crate) async fn get(self, cluster: &Cluster, what: &'static str) -> Result<T, Error> {
        match self {
            Self::Here(value) => Ok(value),
            Self::Large(name) => wire::read(what, &cluster.pick_up(&name).await?),
        }
    }

    /// Deletes it from the object store.
    pub(crate) async fn forget(&self, cluster: &Cluster) {
        if let Self::Large(name) = self {
            cluster.take_away(name).await;
        }
    }
}
