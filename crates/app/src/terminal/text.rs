//! Text that fits: shortened, wrapped, filled up. And text from elsewhere, which must not command the terminal.

use switchboard_toolcall::text::{is_hidden, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text on one line as [`one_line`] has it, cut to `width` columns.
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

/// Returns the text on one line, with single spaces, and with control, direction and invisible characters as escapes.
pub(crate) fn one_line(text: &str) -> String {
    escaped(&text.split_whitespace().collect::<Vec<_>>().join(" "), |_| false)
}

/// Returns the text as [`one_line`] does, but in its own lines.
pub(crate) fn lines(text: &str) -> String {
    escaped(&text.replace("\r\n", "\n"), |c| matches!(c, '\n' | '\t'))
}

/// Returns a piece of a text that comes in pieces as [`lines`] would return the whole. What belongs together may come apart,
/// so that carriage returns are left out and joiners stay wherever they are.
pub(crate) fn piece(text: &str) -> String {
    let is_kept = |c| matches!(c, '\n' | '\t' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    escaped(&text.replace('\r', ""), is_kept)
}

/// Writes hidden characters as escapes, unless `is_kept` or they belong to an emoji: `⚠` and `⚠️` differ by one.
fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut previous = ' ';
    for c in text.chars() {
        let is_symbol = !previous.is_ascii() && !previous.is_alphanumeric() && !is_hidden(previous);
        let joins = matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}') && is_symbol;
        match is_hidden(c) && !is_kept(c) && !joins {
            true => shown.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
            false => shown.push(c),
        }
        // What follows a joiner follows the symbol before it.
        previous = if joins { previous } else { c };
    }
    shown
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
        assert_eq!(shorten("two\nlines\x1b[31m", 40), "two lines\\u{1b}[31m");
    }

    #[test]
    fn text_from_elsewhere_commands_no_terminal() {
        // PO-2
        for (text, shown) in [
            ("a\x1b]0;t\x07b", "a\\u{1b}]0;t\\u{7}b"),
            ("\u{9b}31m\u{90}", "\\u{9b}31m\\u{90}"),
            ("x\u{202e}y\u{2066}", "x\\u{202e}y\\u{2066}"),
            ("re\u{200d}ad\u{fe0f}", "re\\u{200d}ad\\u{fe0f}"),
            (
                "\u{26a0}\u{fe0f} \u{1f469}\u{200d}\u{1f4bb}",
                "\u{26a0}\u{fe0f} \u{1f469}\u{200d}\u{1f4bb}",
            ),
            ("\u{26a0}\u{fe0f}\u{202e}", "\u{26a0}\u{fe0f}\\u{202e}"),
        ] {
            assert_eq!(one_line(text), shown);
            assert_eq!(lines(text), shown);
        }
        let pieces = ["\u{26a0}", "\u{fe0f} a\r", "\n\u{1b}[2J\u{9b}\u{202e}"].map(piece);
        assert_eq!(pieces.concat(), "\u{26a0}\u{fe0f} a\n\\u{1b}[2J\\u{9b}\\u{202e}");
        assert_eq!(one_line(" a\r\n\tb\r"), "a b");
        assert_eq!(lines("a\r\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn text_is_wrapped_at_words() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(pad("日本", 6), "日本  ");
    }
}
