//! Reads the lines of a segment one by one.

use std::io::{self, BufRead, BufReader};

use super::cursor::SegmentPosition;
use crate::{
    chain::{Hash, SealedLine},
    layout::Layout,
    line::last_tick,
    reader::LineLocation,
    segment::{SegmentCursor, SegmentFile},
};

/// A segment that is being read.
pub(super) struct SegmentLines {
    number: u64,
    file: BufReader<SegmentCursor<SegmentFile>>,
    offset: u64,
    /// Where it ended when it was measured.
    length: u64,
    previous: Option<Hash>,
}

/// A line that follows the one before it.
pub(super) struct SegmentLine {
    pub(super) text: Vec<u8>,
    pub(super) place: LineLocation,
    pub(super) hash: Hash,
    pub(super) tick: u64,
}

impl SegmentLine {
    /// Returns the offset of the next line.
    pub(super) fn end(&self) -> u64 {
        self.place.1 + self.place.2 + 1
    }
}

impl SegmentLines {
    /// Opens a segment at a position.
    pub(super) fn open(
        layout: &Layout,
        number: u64,
        from: &SegmentPosition,
        length: u64,
    ) -> io::Result<Self> {
        let segment = SegmentFile::open(layout, number)?.into_cursor(from.offset);
        let file = BufReader::with_capacity(1 << 16, segment);
        Ok(Self { number, file, offset: from.offset, length, previous: from.hash() })
    }

    /// Returns the next line, or `None` if there is no whole one yet.
    pub(super) fn next(&mut self) -> io::Result<Option<SegmentLine>> {
        while self.offset < self.length {
            let mut text = Vec::new();
            let read = self.file.read_until(b'\n', &mut text)? as u64;
            if text.pop() != Some(b'\n') {
                return Ok(None);
            }
            let place = (self.number, self.offset, read - 1);
            self.offset += read;
            let sealed = SealedLine::parse(&text).map(|sealed| {
                let follows = self.previous.is_none_or(|hash| sealed.follows(&hash));
                (sealed.hash, follows)
            });
            self.previous = sealed.map(|(hash, _)| hash);
            // A line that does not follow was torn; repairing the segment cuts it off.
            if let Some((hash, true)) = sealed {
                let tick = last_tick(&text).unwrap_or_default();
                return Ok(Some(SegmentLine { text, place, hash, tick }));
            }
        }
        Ok(None)
    }
}
