//! The lines of the journal: one JSON object each, whose first key says what it is.
//!
//! [`Body`] writes them, [`Line`] reads them back; docs/records.md shows each kind.

mod write;
mod read;

pub(crate) use read::{End, Kind, Line, Open, StagesNs, first_id, last_tick};
pub(crate) use write::{Body, ended, microseconds, opened};

/// The version of the line format, in the header of each segment.
pub(crate) const FORMAT: u64 = 1;
