//! Breaks lines between words as they arrive.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A line that grows word by word. The text may contain colour codes.
#[derive(Debug, Default)]
pub(super) struct LineWrap {
    /// How many columns there are; `None` if lines are not broken.
    width: Option<usize>,
    /// How many are used.
    column: usize,
    /// Where a broken line goes on: under the text of a list's item.
    indent: usize,
    /// Spaces that are shown only if a word follows on the same line.
    spaces: usize,
    /// The word so far, and how wide it is; codes have no width.
    word: String,
    word_width: usize,
    /// Whether the end of a code is still to come.
    inside_code: bool,
}

impl LineWrap {
    /// Creates a line for a terminal of this many columns.
    pub(super) fn at(width: usize) -> Self {
        Self { width: Some(width), ..Self::default() }
    }

    /// Returns an empty line of the same width.
    pub(super) fn restarted(&self) -> Self {
        Self { width: self.width, ..Self::default() }
    }

    /// Takes more text, and returns the words that are complete.
    pub(super) fn push(&mut self, text: &str) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let mut shown = String::new();
        for letter in text.chars() {
            match letter {
                '\n' => {
                    self.end_word(width, &mut shown);
                    shown.push('\n');
                    (self.column, self.spaces, self.indent) = (0, 0, 0);
                }
                ' ' if !self.inside_code => {
                    self.end_word(width, &mut shown);
                    self.spaces += 1;
                }
                letter => self.grow(letter),
            }
        }
        shown
    }

    /// Takes text that is shown as it is.
    pub(super) fn raw(&mut self, text: &str) -> String {
        self.finish() + text
    }

    /// Returns what was held back.
    pub(super) fn finish(&mut self) -> String {
        let mut shown = String::new();
        if let Some(width) = self.width {
            self.end_word(width, &mut shown);
        }
        shown
    }

    fn grow(&mut self, letter: char) {
        self.inside_code |= letter == '\x1b';
        if self.inside_code {
            self.inside_code = letter != 'm';
        } else {
            self.word_width += letter.width().unwrap_or(0);
        }
        self.word.push(letter);
    }

    fn end_word(&mut self, width: usize, shown: &mut String) {
        if self.word.is_empty() {
            return;
        }
        // A colour code alone has no width, so it never causes a break.
        let breaks = self.word_width > 0
            && self.column > self.indent
            && self.column + self.spaces + self.word_width > width;
        if breaks {
            shown.push('\n');
            shown.push_str(&" ".repeat(self.indent));
            self.column = self.indent;
        } else {
            shown.push_str(&" ".repeat(self.spaces));
            self.column += self.spaces;
        }
        let is_first = self.indent == 0 && self.column == self.spaces;
        self.column += self.word_width;
        if is_first && is_mark(&self.word) {
            self.indent = self.column + 1;
        }
        shown.push_str(&self.word);
        self.word.clear();
        (self.spaces, self.word_width) = (0, 0);
    }
}

/// Whether the word is the mark of a list item or a quote.
fn is_mark(word: &str) -> bool {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    word == "•"
        || word.ends_with('│')
        || word
            .strip_suffix(['.', ')'])
            .is_some_and(|number| number.width() < 4 && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in lines of 12 columns, whole and letter by letter alike.
    fn wrapped(text: &str) -> String {
        let mut whole = LineWrap::at(12);
        let at_once = whole.push(text) + &whole.finish();
        let mut pieces = LineWrap::at(12);
        let mut in_pieces: String =
            text.chars().map(|letter| pieces.push(&letter.to_string())).collect();
        in_pieces.push_str(&pieces.finish());
        assert_eq!(at_once, in_pieces, "{text:?}");
        at_once
    }

    #[test]
    fn lines_break_between_words() {
        for (text, expected) in [
            ("one two three four", "one two\nthree four"),
            ("exactly 1234 more", "exactly 1234\nmore"),
            ("one\n\n  two three  four", "one\n\n  two three\nfour"),
            ("a unbreakable-and-long b", "a\nunbreakable-and-long\nb"),
            ("日本語 日本語 x", "日本語\n日本語 x"),
            ("\x1b[1mone two\x1b[22m three", "\x1b[1mone two\x1b[22m\nthree"),
            ("• one two three four", "• one two\n  three four"),
            ("12. one two three", "12. one two\n    three"),
            ("  • nested item", "  • nested\n    item"),
            ("1999. was it, so", "1999. was\nit, so"),
        ] {
            assert_eq!(wrapped(text), expected, "{text:?}");
        }
    }

    #[test]
    fn without_a_width_nothing_is_held() {
        let mut wrap = LineWrap::default();
        assert_eq!(wrap.push("one tw"), "one tw");
        let mut wrap = LineWrap::at(80);
        assert_eq!(
            (wrap.push("one tw"), wrap.raw("| raw")),
            ("one".to_owned(), " tw| raw".to_owned())
        );
    }
}
