//! Who a store is among others.

use std::{fs, io};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use crate::{artifacts, error::Error, layout::Layout};

/// A store among others: an id that stays with it, and the name of its machine for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Node {
    /// Its id, made once.
    pub id: String,
    /// The name of the machine that it is on.
    pub host: String,
}

/// What the file says.
#[derive(Serialize, Deserialize)]
struct Kept {
    id: String,
}

impl Node {
    /// Who the store is; it gets an id where it has none.
    pub(super) fn of(layout: &Layout) -> Result<Self, Error> {
        let path = layout.node();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let kept = match fs::read(&path) {
            // A file that cannot be read was not written by us; what was told under its id stays told.
            Ok(text) => serde_json::from_slice::<Kept>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        if let Some(Kept { id }) = kept {
            return Ok(Self { id, host });
        }
        let kept = Kept { id: CallId::generate().to_string() };
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        artifacts::write(&path, &[&text]).map_err(Error::file("write", &path))?;
        Ok(Self { id: kept.id, host })
    }
}
