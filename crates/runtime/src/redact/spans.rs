//! The parts of a text that are secret.

use std::{borrow::Cow, ops::Range};

use super::REDACTED;

/// Parts of a text that are to be replaced.
#[derive(Default)]
pub(super) struct Spans {
    spans: Vec<Span>,
    /// Where the last one of them ends.
    end: usize,
}

struct Span {
    range: Range<usize>,
    /// Whether it is a JSON value without quotes, so that what replaces it needs them.
    is_bare: bool,
}

impl Spans {
    /// Hides a part of the text.
    pub(super) fn hide(&mut self, range: Range<usize>) {
        self.push(range, false);
    }

    /// Hides a JSON value that is not a string.
    pub(super) fn hide_bare(&mut self, range: Range<usize>) {
        self.push(range, true);
    }

    fn push(&mut self, range: Range<usize>, is_bare: bool) {
        if !range.is_empty() {
            self.end = self.end.max(range.end);
            self.spans.push(Span { range, is_bare });
        }
    }

    /// Returns where the hidden parts end: what begins before that is hidden already.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns the text with the hidden parts replaced.
    pub(super) fn apply(mut self, text: &str) -> Cow<'_, str> {
        if self.spans.is_empty() {
            return Cow::Borrowed(text);
        }
        self.spans.sort_by_key(|span| span.range.start);
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for Span { range, is_bare } in self.spans {
            if range.start >= done {
                out.push_str(&text[done..range.start]);
                let quote = if is_bare { "\"" } else { "" };
                out.extend([quote, REDACTED, quote]);
            }
            done = done.max(range.end);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}
