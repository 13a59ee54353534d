//! Shows where a text went wrong: the line, and a caret under the place.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How much of a long line is shown on either side of the place.
const AROUND: usize = 36;

/// A place in a text; both numbers count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl TextPosition {
    /// The place of the byte at `offset`, or of the end.
    pub(crate) fn at(text: &str, offset: usize) -> Self {
        let before = before(text, offset);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line, column: before[start..].chars().count() + 1 }
    }

    /// The place that a JSON error names; it counts columns in bytes, and names the last byte it read.
    pub(crate) fn of(text: &str, error: &serde_json::Error) -> Self {
        let line_start: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let end = if error.is_eof() { error.column() } else { error.column().saturating_sub(1) };
        Self::at(text, line_start + end)
    }
}

/// The text of a JSON error without its position, which we show ourselves.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map(str::to_owned).unwrap_or(text)
}

/// The line of `position` with a caret under it, indented.
pub(crate) fn excerpt(text: &str, position: TextPosition) -> String {
    let line = text.split('\n').nth(position.line - 1).unwrap_or_default();
    let line = line.trim_end_matches('\r');
    let place = position.column - 1;
    let start = place.saturating_sub(AROUND);
    let shown: String = line.chars().skip(start).take(place - start + AROUND).map(plain).collect();
    let cut_before = if start > 0 { "…" } else { "" };
    let cut_after = if line.chars().count() > place + AROUND { "…" } else { "" };
    let before: String = shown.chars().take(place - start).collect();
    let gap = " ".repeat(cut_before.width() + before.width());
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    format!("  {number} | {cut_before}{shown}{cut_after}\n  {margin} | {gap}^")
}

/// Tabs and control characters would move the caret, or the terminal.
fn plain(character: char) -> char {
    if character.width().is_none() { ' ' } else { character }
}

fn before(text: &str, offset: usize) -> &str {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn check(text: &str) -> String {
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        excerpt(text, TextPosition::of(text, &error))
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        assert_eq!(check(r#"{"a":tru}"#), "  1 | {\"a\":tru}\n    |         ^");
        assert_eq!(check("{\n  \"ü\": x\n}"), "  2 |   \"ü\": x\n    |        ^");
        assert_eq!(check("{\"a\":1"), "  1 | {\"a\":1\n    |       ^");
        assert_eq!(check("{\"日本\": !}"), "  1 | {\"日本\": !}\n    |          ^");
        assert_eq!(check(""), "  1 | \n    | ^");
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("{{\"a\":\"{}\",!{}", "x".repeat(500), "y".repeat(500));
        let shown = check(&text);
        assert!(shown.lines().all(|line| line.chars().count() < 90), "{shown}");
        let (line, caret) = shown.split_once('\n').unwrap();
        let place = caret.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().nth(place), Some('!'));
    }
}
