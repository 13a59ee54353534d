//! How far others were told, in a small file beside the journal.

use std::{collections::BTreeMap, fs, io};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use crate::{chain::Hash, error::Error, layout::Layout, reader::Found};

/// How far the journal was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// How far each segment was read.
    pub(super) segments: BTreeMap<u64, Reached>,
    /// Where the calls began that have not ended.
    pub(super) open: BTreeMap<CallId, Found>,
}

/// Where the next line of a segment begins, and the hash of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reached {
    pub(super) offset: u64,
    last: String,
}

impl Reached {
    pub(super) fn hash(&self) -> Option<Hash> {
        Hash::parse(&self.last)
    }
}

impl Cursor {
    /// The cursor of a store. One that cannot be read is at the beginning: telling twice does no harm.
    pub(super) fn read(layout: &Layout) -> Result<Self, Error> {
        let path = layout.told();
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::file("read", &path)(error)),
        }
    }

    pub(super) fn of(&self, segment: u64) -> Reached {
        self.segments.get(&segment).cloned().unwrap_or_default()
    }

    pub(super) fn reach(&mut self, segment: u64, offset: u64, last: Hash) {
        self.segments.insert(segment, Reached { offset, last: last.to_string() });
    }
}
