//! Renders Markdown on a terminal as it arrives: bold, italic, code, headings, lists and quotes.
//!
//! Text is shown as soon as its style is known. Only a span that is not closed yet is held back, to the end of its line
//! at most; if it is never closed, it is shown as it was written.

mod spans;

use self::spans::{BOLD, CODE, DIM, TextStyle, spans};
use super::wrap::LineWrap;
use crate::terminal::text;

/// How many bytes of a line are parsed at once, which bounds the cost of a very long line.
const LONGEST: usize = 4096;

/// Lays text out in the order in which it comes.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// Text that is not shown yet.
    held: String,
    /// Whether the beginning of this line was shown.
    inside_line: bool,
    /// What ends with the line: a heading, a quote.
    line_style: Option<TextStyle>,
    /// The fence of the code block that this is in.
    fence: Option<String>,
    /// The last character that was shown on this line.
    before: Option<char>,
    wrap: LineWrap,
}

impl Markdown {
    /// For a terminal of so many columns.
    pub(super) fn for_width(width: usize) -> Self {
        Self { wrap: LineWrap::at(width), ..Self::default() }
    }

    /// Takes more text, and returns what can be shown now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(&text::piece(text));
        self.show(false)
    }

    /// Returns what was held back, and resets the state.
    pub(super) fn finish(&mut self) -> String {
        let mut shown = self.show(true);
        if let Some(style) = self.line_style.take() {
            shown.push_str(&self.wrap.push(style.1));
        }
        shown.push_str(&self.wrap.finish());
        *self = Self { wrap: self.wrap.restarted(), ..Self::default() };
        shown
    }

    fn show(&mut self, is_last: bool) -> String {
        let mut shown = String::new();
        while !self.held.is_empty() {
            let (line, is_whole) = self.line(is_last);
            if self.fence.is_some() || (!self.inside_line && is_fence(&self.held[..line])) {
                // Lines of code are held back until they are complete, because they may be the closing fence.
                if !is_whole {
                    break;
                }
                let code: String = self.held.drain(..line).collect();
                let code = self.code_line(&code);
                shown.push_str(&self.wrap.raw(&code));
            } else {
                if !self.inside_line && !self.begin_line(line, is_whole, &mut shown) {
                    break;
                }
                let (line, is_whole) = self.line(is_last);
                let (spans, taken) = spans(&self.held[..line], is_whole, self.before);
                self.before = self.held[..taken].chars().next_back().or(self.before);
                self.held.drain(..taken);
                shown.push_str(&self.wrap.push(&spans));
                if taken < line {
                    break;
                }
            }
            if self.held.starts_with('\n') {
                self.end_line(&mut shown);
            }
        }
        shown
    }

    /// Returns the end of the current line, and whether the line is complete.
    fn line(&self, is_last: bool) -> (usize, bool) {
        let end = self.held.find('\n');
        let line = end.unwrap_or(self.held.len());
        let is_long = line > LONGEST;
        let mut ends = (0..=line.min(LONGEST)).rev();
        let line = ends.find(|end| self.held.is_char_boundary(*end)).unwrap_or(0);
        (line, end.is_some() || is_last || is_long)
    }

    fn end_line(&mut self, shown: &mut String) {
        self.held.remove(0);
        if let Some(style) = self.line_style.take() {
            shown.push_str(&self.wrap.push(style.1));
        }
        shown.push_str(&self.wrap.push("\n"));
        self.inside_line = false;
        self.before = None;
    }

    /// Shows the beginning of a line; returns false if its kind is not known yet.
    fn begin_line(&mut self, line: usize, is_whole: bool, shown: &mut String) -> bool {
        let text = &self.held[..line];
        let indent = text.len() - text.trim_start_matches(' ').len();
        let (space, rest) = text.split_at(indent);
        let applies_serve_rules = |mark: &str| !is_whole && rest.len() <= mark.len() + 1;
        if !is_whole && (rest.is_empty() || "``".starts_with(rest) || "~~".starts_with(rest)) {
            return false;
        }
        let hashes = &rest[..rest.len() - rest.trim_start_matches('#').len()];
        let mut taken = 0;
        if !hashes.is_empty() && hashes.len() <= 6 {
            if applies_serve_rules(hashes) {
                return false;
            }
            if rest[hashes.len()..].starts_with(' ') {
                taken = text.len() - rest[hashes.len()..].trim_start().len();
                self.line_style = Some(BOLD);
                shown.push_str(&self.wrap.push(BOLD.0));
            }
        } else if let Some(mark) = ["-", "*", "+", ">"].iter().find(|mark| rest.starts_with(**mark))
        {
            if applies_serve_rules(mark) && rest.len() == 1 {
                return false;
            }
            if rest[1..].starts_with(' ') {
                taken = indent + 2;
                shown.push_str(&self.wrap.push(space));
                if *mark == ">" {
                    self.line_style = Some(DIM);
                    shown.push_str(&self.wrap.push(&format!("{}│ ", DIM.0)));
                } else {
                    shown.push_str(&self.wrap.push("• "));
                }
            }
        }
        self.held.drain(..taken);
        self.inside_line = true;
        self.before = (taken > 0).then_some(' ');
        true
    }

    /// A line of a code block, or one of its fences.
    fn code_line(&mut self, line: &str) -> String {
        self.inside_line = true;
        let mark = fence_of(line);
        match &self.fence {
            Some(open)
                if mark
                    .is_some_and(|mark| line.trim() == mark && mark.starts_with(open.as_str())) =>
            {
                self.fence = None;
                DIM.on(line)
            }
            Some(_) if line.is_empty() => String::new(),
            Some(_) => CODE.on(line),
            None => {
                self.fence = mark.map(str::to_owned);
                DIM.on(line)
            }
        }
    }
}

/// The run of backticks or tildes that a line begins with, if it is long enough.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find_map(|mark| {
        let fence = &line[..line.len() - line.trim_start_matches(mark).len()];
        (fence.len() >= 3).then_some(fence)
    })
}

/// Whether a code block begins here; if the text after the backticks contains another one, it is a span.
fn is_fence(line: &str) -> bool {
    fence_of(line).is_some_and(|fence| {
        !fence.starts_with('`') || !line.trim_start()[fence.len()..].contains('`')
    })
}

#[cfg(test)]
mod tests;
