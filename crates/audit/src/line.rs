//! The lines of the journal: one JSON object each, whose first key says what it is.
//!
//! [`LineBody`] writes them, [`JournalLine`] parses them, [`IndexedLine`] reads the fields that the index keeps; docs/records.md
//! shows each kind.

mod write;
mod read;
mod fields;
mod runs;
mod indexed;
mod removed;

pub(crate) use fields::LineFields;
pub(crate) use indexed::{IndexedEnd, IndexedLine, IndexedOpen, TimeParser};
pub(crate) use read::{EndLine, JournalLine, LineKind, OpenLine, StagesNs, first_id, last_tick};
pub(crate) use removed::without_content;
pub(crate) use runs::{
    CallOfRun, RunLine, RunsRemovedLine, hash_text, run_ended, runs_removed, sha256,
};
pub(crate) use write::{LineBody, ended, microseconds, opened};

/// The version of the line format, in the header of each segment.
pub(crate) const FORMAT: u64 = 1;
