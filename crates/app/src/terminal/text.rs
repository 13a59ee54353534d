//! Text that fits: shortened, wrapped, filled up.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text on one line, without control characters, cut to `width` columns.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let line = one_line(text);
    if line.width() <= width {
        return line;
    }
    let mut used = 1; // the ellipsis
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= width
    };
    let mut short: String = line.chars().take_while(fits).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// The text on one line, with single spaces and without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The text in lines of at most `width` columns, as far as its words allow.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in one_line(text).split(' ') {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.width() + 1 + word.width() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text with spaces up to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_to_columns() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("a bit longer", 7), "a bit…");
        assert_eq!(shorten("日本語の説明", 7), "日本語…");
        assert_eq!(shorten("two\nlines\x1b[31m", 40), "two lines [31m");
    }

    #[test]
    fn text_is_wrapped_at_words() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(pad("日本", 6), "日本  ");
    }
}
