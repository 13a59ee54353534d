//! The lines of the journal: one JSON object each, whose first key says what it is.
//!
//! [`Body`] writes them, [`Line`] reads them back, [`Brief`] what the index keeps of them; docs/records.md shows each kind.

mod write;
mod read;
mod fields;
mod brief;

pub(crate) use brief::{Begun, Brief, Clock, Ended};
pub(crate) use read::{End, Kind, Line, Open, StagesNs, first_id, last_tick};
pub(crate) use write::{Body, ended, microseconds, opened};

/// The version of the line format, in the header of each segment.
pub(crate) const FORMAT: u64 = 1;
