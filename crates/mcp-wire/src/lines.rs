//! Framing for stdio: bytes become lines, and lines messages, whatever else a server writes.
//!
//! [`LineSplitter`] cuts a stream into lines without ever holding more than its limit; [`messages`] finds the messages in
//! one. Neither reads nor writes anything itself.

mod salvage;
#[cfg(test)]
mod tests;

use std::io::BufRead;

pub use salvage::{messages, unreadable_answer};

/// How much room a read is given at least.
const CHUNK: usize = 64 * 1024;

/// A larger buffer is freed when it is empty.
const KEPT: usize = 1024 * 1024;

/// How much of either end of an overlong line is kept.
const ENDS: usize = 2048;

/// Cuts a stream of bytes into lines.
#[derive(Debug)]
pub struct LineSplitter {
    buffer: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// Up to here the buffer has no line end.
    scanned: usize,
    limit: usize,
    skipping: Option<TooLong>,
}

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum WireLine<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The line was longer than the limit and is discarded.
    TooLong(TooLong),
}

/// The ends of an overlong line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TooLong {
    /// How long it was.
    pub bytes: u64,
    /// How it began.
    pub head: Vec<u8>,
    /// How it ended.
    pub tail: Vec<u8>,
}

impl LineSplitter {
    /// Splits off lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, limit, skipping: None }
    }

    /// Where the next bytes are to be appended, with room for a good read.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        let (length, capacity) = (self.buffer.len(), self.buffer.capacity());
        if capacity - length < CHUNK {
            // Doubled as vectors are, but not beyond what the longest line needs.
            let wanted = (2 * capacity).min(self.limit.saturating_add(CHUNK)).max(length + CHUNK);
            self.buffer.reserve_exact(wanted - length);
        }
        &mut self.buffer
    }

    /// The next line, once its end is there.
    #[expect(clippy::should_implement_trait, reason = "an iterator's items cannot borrow from it")]
    pub fn next(&mut self) -> Option<WireLine<'_>> {
        let Some(length) = to_line_end(&self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            if self.skipping.is_some() || self.scanned - self.start > self.limit {
                let skipped = self.skipping.get_or_insert_default();
                skipped.add(&self.buffer[self.start..]);
                self.start = self.scanned;
            }
            return None;
        };
        let end = self.scanned + length;
        self.scanned = end + 1;
        Some(self.cut(end, end + 1))
    }

    /// Returns the last line of the stream if it has no line end.
    pub fn finish(&mut self) -> Option<WireLine<'_>> {
        let end = self.buffer.len();
        self.scanned = end;
        (self.start < end || self.skipping.is_some()).then(|| self.cut(end, end))
    }

    fn cut(&mut self, end: usize, next: usize) -> WireLine<'_> {
        let line = &self.buffer[std::mem::replace(&mut self.start, next)..end];
        if self.skipping.is_none() && line.len() <= self.limit {
            return WireLine::Whole(line.strip_suffix(b"\r").unwrap_or(line));
        }
        let mut skipped = self.skipping.take().unwrap_or_default();
        skipped.add(line);
        WireLine::TooLong(skipped)
    }
}

/// How many bytes there are before the first line end.
fn to_line_end(mut bytes: &[u8]) -> Option<usize> {
    // The standard library's fastest search for a byte; a slice as a reader cannot fail.
    let whole = bytes;
    let passed = bytes.skip_until(b'\n').unwrap_or_default();
    (passed > 0 && whole[passed - 1] == b'\n').then(|| passed - 1)
}

impl TooLong {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let wanted = (ENDS - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
        self.tail.drain(..self.tail.len().saturating_sub(ENDS));
    }

    /// Returns the id of our request that it answers, if its ends show that for certain.
    ///
    /// So the pending request can fail at once if its response was too large to be kept.
    pub fn answers(&self) -> Option<u64> {
        let compact = |bytes: &[u8]| -> String {
            let text = String::from_utf8_lossy(bytes);
            text.chars().filter(|character| !character.is_ascii_whitespace()).collect()
        };
        let (head, tail) = (compact(&self.head), compact(&self.tail));
        if let Some(rest) = head.strip_prefix(r#"{"jsonrpc":"2.0","id":"#) {
            let (id, rest) = rest.split_once(',')?;
            let answer = rest.starts_with(r#""result":"#) || rest.starts_with(r#""error":"#);
            return answer.then(|| id.parse().ok())?;
        }
        if !head.starts_with(r#"{"result":"#) && !head.starts_with(r#"{"error":"#) {
            return None;
        }
        let id = match tail.strip_suffix(r#","jsonrpc":"2.0"}"#) {
            Some(tail) => tail.rsplit_once(r#","id":"#)?.1,
            None => tail.strip_suffix('}')?.rsplit_once(r#","jsonrpc":"2.0","id":"#)?.1,
        };
        id.parse().ok()
    }
}
