//! The identity of a store among those of other machines.

use std::{fs, io};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use crate::{artifacts, error::Error, layout::Layout};

/// A store's identity: a permanent id, and its machine's name for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreNode {
    /// Its id, made once.
    pub id: String,
    /// The name of the machine that it is on.
    pub host: String,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct NodeFile {
    id: String,
}

impl StoreNode {
    /// Returns the store's identity; creates an id if it has none.
    pub(super) fn of(layout: &Layout) -> Result<Self, Error> {
        let path = layout.node();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let kept = match fs::read(&path) {
            // A damaged file was not written by this crate: the store gets a new id.
            Ok(text) => serde_json::from_slice::<NodeFile>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        if let Some(NodeFile { id }) = kept {
            return Ok(Self { id, host });
        }
        let kept = NodeFile { id: CallId::generate().to_string() };
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        artifacts::write(&path, &[&text]).map_err(Error::file("write", &path))?;
        Ok(Self { id: kept.id, host })
    }
}
