//! The parts of a text that are secret.

use std::{borrow::Cow, cmp::Reverse, ops::Range};

use super::REDACTED;

/// Parts of a text that will be replaced.
#[derive(Default)]
pub(super) struct RedactedSpans {
    spans: Vec<(Range<usize>, Replacement)>,
    /// Where the last hidden part ends.
    end: usize,
}

/// What replaces a part.
enum Replacement {
    /// [`REDACTED`].
    Redacted,
    /// The same, quoted: the part is a JSON value that is not a string.
    Quoted,
    /// This text: the part is JSON with secrets in it.
    Written(String),
}

impl RedactedSpans {
    /// Hides a part of the text.
    pub(super) fn hide(&mut self, range: Range<usize>) {
        self.push(range, Replacement::Redacted);
    }

    /// Hides a JSON value that is not a string.
    pub(super) fn hide_bare(&mut self, range: Range<usize>) {
        self.push(range, Replacement::Quoted);
    }

    fn push(&mut self, range: Range<usize>, with: Replacement) {
        if !range.is_empty() {
            self.end = self.end.max(range.end);
            self.spans.push((range, with));
        }
    }

    /// Replaces a part that is JSON.
    pub(super) fn rewrite(&mut self, range: Range<usize>, written: String) {
        self.spans.push((range, Replacement::Written(written)));
    }

    /// Returns where the hidden parts end.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns the text with these parts replaced; if parts overlap, the first and longest wins.
    pub(super) fn apply(mut self, text: &str) -> Cow<'_, str> {
        if self.spans.is_empty() {
            return Cow::Borrowed(text);
        }
        self.spans.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (range, with) in self.spans {
            if range.start >= done {
                out.push_str(&text[done..range.start]);
                match with {
                    Replacement::Redacted => out.push_str(REDACTED),
                    Replacement::Quoted => out.extend(["\"", REDACTED, "\""]),
                    Replacement::Written(written) => out.push_str(&written),
                }
            }
            done = done.max(range.end);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}
