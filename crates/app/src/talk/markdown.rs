//! Markdown on a terminal, while it comes: bold, italic, code, headings, lists and quotes.
//!
//! Text is shown as soon as it is known what it is. Only a span that may still turn out to be no span is held back,
//! to the end of its line at most; what is none is shown as it was written.

use super::screen::harmless;

/// Lays text out in the order in which it comes.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// What came and is not shown yet.
    held: String,
    /// Whether the beginning of this line was shown.
    inside_line: bool,
    /// What ends with the line: a heading, a quote.
    line_style: Option<Style>,
    /// The fence of the code block that this is in.
    fence: Option<String>,
    /// The last character that was shown on this line.
    before: Option<char>,
}

/// What switches on, and what switches off only that.
#[derive(Clone, Copy, Debug)]
struct Style(&'static str, &'static str);

const BOLD: Style = Style("\x1b[1m", "\x1b[22m");
const DIM: Style = Style("\x1b[2m", "\x1b[22m");
const ITALIC: Style = Style("\x1b[3m", "\x1b[23m");
const CODE: Style = Style("\x1b[36m", "\x1b[39m");

impl Style {
    fn on(self, text: &str) -> String {
        format!("{}{text}{}", self.0, self.1)
    }
}

impl Markdown {
    /// Takes more text, and gives what can be shown of all so far.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(&harmless(text));
        self.show(false)
    }

    /// Gives what was held back, and begins anew.
    pub(super) fn finish(&mut self) -> String {
        let mut shown = self.show(true);
        if let Some(style) = self.line_style.take() {
            shown.push_str(style.1);
        }
        *self = Self::default();
        shown
    }

    fn show(&mut self, is_last: bool) -> String {
        let mut shown = String::new();
        while !self.held.is_empty() {
            let end = self.held.find('\n');
            let line = end.map_or(self.held.len(), |end| end);
            let is_whole = end.is_some() || is_last;
            if self.fence.is_some() || (!self.inside_line && is_fence(&self.held[..line])) {
                // Lines of code are short, and only a whole one is known not to be the fence's end.
                if !is_whole {
                    break;
                }
                let code: String = self.held.drain(..line).collect();
                shown.push_str(&self.code_line(&code));
            } else {
                if !self.inside_line && !self.begin_line(line, is_whole, &mut shown) {
                    break;
                }
                let line = self.held.find('\n').unwrap_or(self.held.len());
                let (spans, taken) = spans(&self.held[..line], is_whole, self.before);
                self.before = self.held[..taken].chars().next_back().or(self.before);
                self.held.drain(..taken);
                shown.push_str(&spans);
                if !self.held.starts_with('\n') {
                    break;
                }
            }
            if self.held.starts_with('\n') {
                self.end_line(&mut shown);
            }
        }
        shown
    }

    fn end_line(&mut self, shown: &mut String) {
        self.held.remove(0);
        if let Some(style) = self.line_style.take() {
            shown.push_str(style.1);
        }
        shown.push('\n');
        self.inside_line = false;
        self.before = None;
    }

    /// Shows what begins a line; false where that is not known yet.
    fn begin_line(&mut self, line: usize, is_whole: bool, shown: &mut String) -> bool {
        let text = &self.held[..line];
        let indent = text.len() - text.trim_start_matches(' ').len();
        let (space, rest) = text.split_at(indent);
        let is_open = |mark: &str| !is_whole && rest.len() <= mark.len() + 1;
        if !is_whole && (rest.is_empty() || "``".starts_with(rest) || "~~".starts_with(rest)) {
            return false;
        }
        let hashes = &rest[..rest.len() - rest.trim_start_matches('#').len()];
        let mut taken = 0;
        if !hashes.is_empty() && hashes.len() <= 6 {
            if is_open(hashes) {
                return false;
            }
            if rest[hashes.len()..].starts_with(' ') {
                taken = text.len() - rest[hashes.len()..].trim_start().len();
                self.line_style = Some(BOLD);
                shown.push_str(BOLD.0);
            }
        } else if let Some(mark) = ["-", "*", "+", ">"].iter().find(|mark| rest.starts_with(**mark))
        {
            if is_open(mark) && rest.len() == 1 {
                return false;
            }
            if rest[1..].starts_with(' ') {
                taken = indent + 2;
                shown.push_str(space);
                if *mark == ">" {
                    self.line_style = Some(DIM);
                    shown.push_str(DIM.0);
                    shown.push_str("│ ");
                } else {
                    shown.push_str("• ");
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

/// Whether a code block begins here; what follows backticks must not have one, or it is a span.
fn is_fence(line: &str) -> bool {
    fence_of(line).is_some_and(|fence| {
        !fence.starts_with('`') || !line.trim_start()[fence.len()..].contains('`')
    })
}

/// What can be shown of the rest of a line, and how many bytes that took.
fn spans(line: &str, is_whole: bool, before: Option<char>) -> (String, usize) {
    let mut shown = String::new();
    let mut taken = 0;
    let mut before = before;
    while taken < line.len() {
        let rest = &line[taken..];
        match span(rest, before) {
            Span::Plain(length) => {
                shown.push_str(&rest[..length]);
                taken += length;
                before = rest[..length].chars().next_back();
            }
            Span::Whole { style, inner, length } => {
                let inner =
                    if style.0 == CODE.0 { inner.to_owned() } else { spans(inner, true, None).0 };
                shown.push_str(&style.on(&inner));
                taken += length;
                before = Some('*');
            }
            Span::Open(_) if !is_whole => break,
            Span::Open(mark) => {
                shown.push_str(&rest[..mark]);
                taken += mark;
                before = rest[..mark].chars().next_back();
            }
        }
    }
    (shown, taken)
}

/// What begins at a place.
enum Span<'a> {
    /// So many bytes of plain text.
    Plain(usize),
    /// A span from mark to mark.
    Whole { style: Style, inner: &'a str, length: usize },
    /// A mark of so many bytes whose span is not closed so far.
    Open(usize),
}

fn span(text: &str, before: Option<char>) -> Span<'_> {
    let Some(first) = text.chars().next() else { return Span::Plain(0) };
    if !matches!(first, '`' | '*' | '_') {
        return Span::Plain(first.len_utf8());
    }
    let rest = text.trim_start_matches(first);
    let mark = &text[..text.len() - rest.len()];
    if rest.is_empty() {
        return Span::Open(mark.len());
    }
    let style = match (first, mark.len()) {
        ('`', _) => CODE,
        (_, 1) => ITALIC,
        (_, 2) => BOLD,
        _ => return Span::Plain(mark.len()),
    };
    // `snake_case`, `2*3` and `2 * 3` are no emphasis.
    let inside_word = before.is_some_and(char::is_alphanumeric);
    if first != '`' && (inside_word || rest.starts_with(char::is_whitespace)) {
        return Span::Plain(mark.len());
    }
    match closing(rest, mark, first) {
        Some(end) => Span::Whole { style, inner: &rest[..end], length: end + 2 * mark.len() },
        None => Span::Open(mark.len()),
    }
}

/// Where the mark stands again, alone and behind something.
fn closing(rest: &str, mark: &str, first: char) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = rest[from..].find(first) {
        let at = from + found;
        let length = rest[at..].len() - rest[at..].trim_start_matches(first).len();
        let behind = rest[..at].chars().next_back();
        let is_behind_text = behind.is_some_and(|c| !c.is_whitespace());
        let after = rest[at + length..].chars().next();
        let is_inside_word = first == '_' && after.is_some_and(char::is_alphanumeric);
        if length == mark.len() && !is_inside_word && (first == '`' || is_behind_text) {
            return Some(at);
        }
        from = at + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text as it is shown, whole and letter by letter alike, with styles as tags.
    fn shown(text: &str) -> String {
        let mut whole = Markdown::default();
        let at_once = whole.push(text) + &whole.finish();
        let mut pieces = Markdown::default();
        let mut in_pieces: String =
            text.chars().map(|letter| pieces.push(&letter.to_string())).collect();
        in_pieces.push_str(&pieces.finish());
        assert_eq!(at_once, in_pieces, "{text:?}");
        let tags = [
            ("\x1b[1m", "<b>"),
            ("\x1b[2m", "<d>"),
            ("\x1b[22m", "</>"),
            ("\x1b[3m", "<i>"),
            ("\x1b[23m", "</i>"),
            ("\x1b[36m", "<c>"),
            ("\x1b[39m", "</c>"),
        ];
        tags.iter().fold(at_once, |text, (code, tag)| text.replace(code, tag))
    }

    // ML-8
    #[test]
    fn text_is_laid_out() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("a **bold** and *italic* _word_", "a <b>bold</> and <i>italic</i> <i>word</i>"),
            ("run `a*b*c` now", "run <c>a*b*c</c> now"),
            ("**bold with `code`**", "<b>bold with <c>code</c></>"),
            ("## Title\ntext", "<b>Title</>\ntext"),
            ("- one\n  * two\n1. three", "• one\n  • two\n1. three"),
            ("> said\nnot", "<d>│ said</>\nnot"),
            (
                "```rust\nlet a = *b;\n\n```\n*end*",
                "<d>```rust</>\n<c>let a = *b;</c>\n\n<d>```</>\n<i>end</i>",
            ),
            ("````\n```\n````", "<d>````</>\n<c>```</c>\n<d>````</>"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_is_no_markdown_stays() {
        for text in [
            "2*3*4 and 2 * 3 * 4",
            "snake_case_name and __init",
            "*args and **kwargs",
            "an `open mark\nand more",
            "#hashtag, -5, >3, ***\n#",
            "-",
            "|a|b|\n|-|-|",
            "``",
            "",
            "\n\n",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn text_does_not_wait_for_its_line() {
        let mut markdown = Markdown::default();
        assert_eq!(markdown.push("So "), "So ");
        assert_eq!(markdown.push("it **be"), "it ");
        assert_eq!(markdown.push("gins** h"), "\x1b[1mbegins\x1b[22m h");
        assert_eq!(markdown.push("\x1b[31mere\n"), "[31mere\n");
    }
}
