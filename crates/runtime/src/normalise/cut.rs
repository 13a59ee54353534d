//! Truncates texts that are too long, with a note that says so.

use std::io::{self, Write};

use serde::Serialize;

/// A text that is too long, truncated at character boundaries; lengths are in characters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TruncatedText<'a> {
    pub(crate) head: &'a str,
    pub(crate) tail: &'a str,
    /// Where the missing part begins.
    pub(crate) offset: usize,
    pub(crate) missing: usize,
    pub(crate) total: usize,
}

impl<'a> TruncatedText<'a> {
    /// Truncates the text to `limit` characters, two thirds of them from its head. Returns `None` if it fits.
    pub(crate) fn of(text: &'a str, limit: usize) -> Option<Self> {
        // Bytes bound characters: most texts need no counting.
        if text.len() <= limit {
            return None;
        }
        let total = text.chars().count();
        if total <= limit {
            return None;
        }
        let tail_length = limit / 3;
        let offset = limit - tail_length;
        let head_end = byte_of(text, offset);
        let tail_start = match tail_length {
            0 => text.len(),
            length => text.char_indices().rev().nth(length - 1).map_or(0, |(at, _)| at),
        };
        Some(Self {
            head: &text[..head_end],
            tail: &text[tail_start..],
            offset,
            missing: total - limit,
            total,
        })
    }

    /// Returns the text with a note of what is missing and how to read on in the artifact `whole`, in which the text
    /// begins at the character `start`.
    pub(super) fn with_note(&self, start: usize, whole: Option<&str>, limit: usize) -> String {
        let Self { head, tail, offset, missing, total } = self;
        let way = match whole {
            Some(id) => format!(
                "read_result {{\"id\":\"{id}\",\"offset\":{},\"limit\":{}}} reads on",
                start + offset,
                missing.min(&limit)
            ),
            None => "they could not be kept".to_owned(),
        };
        format!("{head}\n[… {missing} of {total} characters are missing here; {way} …]\n{tail}")
    }
}

/// Returns the byte where the character number `index` begins, or the end.
pub(crate) fn byte_of(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Returns whether the compact JSON of the value has at most `limit` characters.
pub(super) fn fits(value: &impl Serialize, limit: usize) -> bool {
    let mut room = LengthLimit { bytes: limit };
    if serde_json::to_writer(&mut room, value).is_ok() {
        return true;
    }
    // More bytes than the limit may still be fewer characters.
    let text = serde_json::to_string(value).unwrap_or_default();
    text.chars().count() <= limit
}

/// A writer that fails after so many bytes, so that measuring stops once a value is too long.
struct LengthLimit {
    bytes: usize,
}

impl Write for LengthLimit {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.checked_sub(written.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
