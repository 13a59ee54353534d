//! The lines of a segment that are to be told, one after the other.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    path::Path,
};

use super::cursor::Reached;
use crate::{
    chain::{Hash, Sealed},
    line::last_tick,
    reader::Found,
};

/// A segment that is being read.
pub(super) struct Lines {
    number: u64,
    file: BufReader<File>,
    offset: u64,
    /// Where it ended when it was measured.
    length: u64,
    previous: Option<Hash>,
}

/// A line that follows the one before it.
pub(super) struct Line {
    pub(super) text: Vec<u8>,
    pub(super) place: Found,
    pub(super) hash: Hash,
    pub(super) tick: u64,
}

impl Line {
    /// Where the next one begins.
    pub(super) fn end(&self) -> u64 {
        self.place.1 + self.place.2 + 1
    }
}

impl Lines {
    /// The lines from there on.
    pub(super) fn open(path: &Path, number: u64, from: &Reached, length: u64) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        file.seek(SeekFrom::Start(from.offset))?;
        Ok(Self { number, file, offset: from.offset, length, previous: from.hash() })
    }

    /// The next line; none where there is no whole one yet.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        while self.offset < self.length {
            let mut text = Vec::new();
            let read = self.file.read_until(b'\n', &mut text)? as u64;
            if text.pop() != Some(b'\n') {
                return Ok(None);
            }
            let place = (self.number, self.offset, read - 1);
            self.offset += read;
            let sealed = Sealed::parse(&text).map(|sealed| {
                let follows = self.previous.is_none_or(|hash| sealed.follows(&hash));
                (sealed.hash, follows)
            });
            self.previous = sealed.map(|(hash, _)| hash);
            // What does not follow was torn, and whoever repairs the segment cuts it off.
            if let Some((hash, true)) = sealed {
                let tick = last_tick(&text).unwrap_or_default();
                return Ok(Some(Line { text, place, hash, tick }));
            }
        }
        Ok(None)
    }
}
