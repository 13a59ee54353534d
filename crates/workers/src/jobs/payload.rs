//! A value in a message or an entry, or where it lies if it is too large for one.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Cluster, Error, wire};

/// A value where it is, or the name under which it lies in the object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload<T> {
    /// The value.
    Here(T),
    /// Where it lies.
    Large(String),
}

impl<T: Serialize + DeserializeOwned> Payload<T> {
    /// The value, laid into the object store where it is too large for a message.
    pub(crate) async fn put(cluster: &Cluster, value: T) -> Result<Self, Error> {
        let bytes = wire::write(&value)?;
        match cluster.is_large(bytes.len()) {
            true => cluster.lay_down(&bytes).await.map(Self::Large),
            false => Ok(Self::Here(value)),
        }
    }

    /// The value, fetched where it lies elsewhere; `what` names it in the error.
    pub(crate) async fn get(self, cluster: &Cluster, what: &'static str) -> Result<T, Error> {
        match self {
            Self::Here(value) => Ok(value),
            Self::Large(name) => wire::read(what, &cluster.pick_up(&name).await?),
        }
    }

    /// Takes away what lies in the object store.
    pub(crate) async fn forget(&self, cluster: &Cluster) {
        if let Self::Large(name) = self {
            cluster.take_away(name).await;
        }
    }
}
