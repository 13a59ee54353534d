//! The hash of a run's file as it grows, which the journal has of each turn that makes calls.

use std::{fmt::Write, sync::Arc};

use sha2::{Digest, Sha256};

/// The beginning of a turn's line.
const TURN: &[u8] = b"{\"turn\":";

/// The hash of the lines so far.
#[derive(Debug, Default)]
pub(super) struct RunHash {
    lines: Sha256,
    turn: Option<Arc<str>>,
}

impl RunHash {
    /// Returns the hash of a file of whole lines.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut hash = Self::default();
        text.split_inclusive(|byte| *byte == b'\n').for_each(|line| hash.add(line));
        hash
    }

    /// Adds a line with its newline.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.lines.update(line);
        if line.starts_with(TURN) {
            let mut text = String::with_capacity(64);
            for byte in self.lines.clone().finalize() {
                // Writing to a string cannot fail.
                _ = write!(text, "{byte:02x}");
            }
            self.turn = Some(text.into());
        }
    }

    /// Returns the hash up to the last turn, with its line.
    pub(super) fn last_turn(&self) -> Option<Arc<str>> {
        self.turn.clone()
    }
}
