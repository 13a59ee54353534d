//! How far the journal was exported, in a small file beside it.

use std::{collections::BTreeMap, fs, io};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use super::ExportTarget;
use crate::{chain::Hash, error::Error, layout::Layout, reader::LineLocation};

/// How far the journal was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ExportCursor {
    /// How far each segment was read.
    pub(super) segments: BTreeMap<u64, SegmentPosition>,
    /// Where the open calls start.
    pub(super) open: BTreeMap<CallId, LineLocation>,
}

/// The offset of a segment's next line, and the hash of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentPosition {
    pub(super) offset: u64,
    last: String,
}

impl SegmentPosition {
    pub(super) fn hash(&self) -> Option<Hash> {
        Hash::parse(&self.last)
    }
}

impl ExportCursor {
    /// Reads the cursor of a store. A damaged one starts over: exporting twice does no harm.
    pub(super) fn read(layout: &Layout, target: ExportTarget) -> Result<Self, Error> {
        let path = layout.export_cursor(target);
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::file("read", &path)(error)),
        }
    }

    pub(super) fn of(&self, segment: u64) -> SegmentPosition {
        self.segments.get(&segment).cloned().unwrap_or_default()
    }

    pub(super) fn reach(&mut self, segment: u64, offset: u64, last: Hash) {
        self.segments.insert(segment, SegmentPosition { offset, last: last.to_string() });
    }
}
