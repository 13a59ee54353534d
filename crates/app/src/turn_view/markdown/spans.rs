//! Spans within a line: bold, italic and code.

/// The codes that switch a style on, and off again.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle(pub(super) &'static str, pub(super) &'static str);

pub(super) const BOLD: TextStyle = TextStyle("\x1b[1m", "\x1b[22m");
pub(super) const DIM: TextStyle = TextStyle("\x1b[2m", "\x1b[22m");
pub(super) const ITALIC: TextStyle = TextStyle("\x1b[3m", "\x1b[23m");
pub(super) const CODE: TextStyle = TextStyle("\x1b[36m", "\x1b[39m");

impl TextStyle {
    pub(super) fn on(self, text: &str) -> String {
        format!("{}{text}{}", self.0, self.1)
    }
}

/// Returns what can be shown of the rest of a line, and how many bytes that took.
pub(super) fn spans(line: &str, is_whole: bool, before: Option<char>) -> (String, usize) {
    let mut shown = String::new();
    let mut taken = 0;
    let mut before = before;
    while taken < line.len() {
        let rest = &line[taken..];
        match span(rest, is_whole, before) {
            TextSpan::Plain(length) => {
                shown.push_str(&rest[..length]);
                taken += length;
                before = rest[..length].chars().next_back();
            }
            TextSpan::Whole { style, inner, length } => {
                let inner =
                    if style.0 == CODE.0 { inner.to_owned() } else { spans(inner, true, None).0 };
                shown.push_str(&style.on(&inner));
                taken += length;
                before = Some('*');
            }
            TextSpan::Open(_) if !is_whole => break,
            TextSpan::Open(mark) => {
                shown.push_str(&rest[..mark]);
                taken += mark;
                before = rest[..mark].chars().next_back();
            }
        }
    }
    (shown, taken)
}

/// The piece of text that begins at a position.
enum TextSpan<'a> {
    /// This many bytes of plain text.
    Plain(usize),
    /// A span from mark to mark.
    Whole { style: TextStyle, inner: &'a str, length: usize },
    /// A mark of this many bytes whose span is not closed so far.
    Open(usize),
}

fn span(text: &str, is_whole: bool, before: Option<char>) -> TextSpan<'_> {
    let Some(first) = text.chars().next() else { return TextSpan::Plain(0) };
    if !matches!(first, '`' | '*' | '_') {
        return TextSpan::Plain(first.len_utf8());
    }
    let rest = text.trim_start_matches(first);
    let mark = &text[..text.len() - rest.len()];
    if rest.is_empty() {
        return TextSpan::Open(mark.len());
    }
    let style = match (first, mark.len()) {
        ('`', _) => CODE,
        (_, 1) => ITALIC,
        (_, 2) => BOLD,
        _ => return TextSpan::Plain(mark.len()),
    };
    // `snake_case`, `2*3` and `2 * 3` are not emphasis.
    let inside_word = before.is_some_and(char::is_alphanumeric);
    if first != '`' && (inside_word || rest.starts_with(char::is_whitespace)) {
        return TextSpan::Plain(mark.len());
    }
    match closing(rest, is_whole, mark, first) {
        Some(end) => TextSpan::Whole { style, inner: &rest[..end], length: end + 2 * mark.len() },
        None => TextSpan::Open(mark.len()),
    }
}

/// Returns the position of the closing mark, which must be alone and after some text.
fn closing(rest: &str, is_whole: bool, mark: &str, first: char) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = rest[from..].find(first) {
        let at = from + found;
        let length = rest[at..].len() - rest[at..].trim_start_matches(first).len();
        if at + length == rest.len() && !is_whole {
            // It may still grow, or stand inside a word.
            return None;
        }
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
