//! The parts of a text that are secret.

use std::{borrow::Cow, cmp::Reverse, ops::Range};

use super::REDACTED;

/// Parts of a text that are to be replaced.
#[derive(Default)]
pub(super) struct Spans {
    spans: Vec<(Range<usize>, With)>,
    /// Where the last hidden part ends.
    end: usize,
}

/// What a part is replaced with.
enum With {
    /// [`REDACTED`].
    Redacted,
    /// The same in quotes: the part is a JSON value that is not a string.
    Quoted,
    /// This text: the part is JSON with secrets in it.
    Written(String),
}

impl Spans {
    /// Hides a part of the text.
    pub(super) fn hide(&mut self, range: Range<usize>) {
        self.push(range, With::Redacted);
    }

    /// Hides a JSON value that is not a string.
    pub(super) fn hide_bare(&mut self, range: Range<usize>) {
        self.push(range, With::Quoted);
    }

    fn push(&mut self, range: Range<usize>, with: With) {
        if !range.is_empty() {
            self.end = self.end.max(range.end);
            self.spans.push((range, with));
        }
    }

    /// Replaces a part that is JSON.
    pub(super) fn rewrite(&mut self, range: Range<usize>, written: String) {
        self.spans.push((range, With::Written(written)));
    }

    /// Returns where the hidden parts end: what begins before that is hidden already.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns the text with these parts replaced; of parts that overlap, the first and longest.
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
                    With::Redacted => out.push_str(REDACTED),
                    With::Quoted => out.extend(["\"", REDACTED, "\""]),
                    With::Written(written) => out.push_str(&written),
                }
            }
            done = done.max(range.end);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}
