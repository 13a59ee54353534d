//! Shortens, wraps and pads text, and escapes text from elsewhere, which must not control the terminal.

use switchboard_toolcall::text::{is_hidden, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::marks;

/// The text on one line as [`one_line`] has it, cut to `width` columns.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    cut(text, width, marks::ellipsis())
}

fn cut(text: &str, width: usize, ellipsis: &str) -> String {
    let line = one_line(text);
    if line.width() <= width {
        return line;
    }
    let short = beginning(&line, width.saturating_sub(ellipsis.width()));
    format!("{}{ellipsis}", short.trim_end())
}

/// A tool's name on one line, cut to `width` columns in the server's name if possible, else in the middle: tools of one
/// server often differ only at the end.
pub(crate) fn shorten_name(name: &str, width: usize) -> String {
    cut_name(name, width, marks::ellipsis())
}

fn cut_name(name: &str, width: usize, ellipsis: &str) -> String {
    let line = one_line(name);
    if line.width() <= width {
        return line;
    }
    let room = width.saturating_sub(ellipsis.width());
    if let Some(at) = line.find("__") {
        let (server, tool) = line.split_at(at);
        let left = room.saturating_sub(tool.width());
        if left >= 2 {
            return format!("{}{ellipsis}{tool}", beginning(server, left));
        }
    }
    let head = room / 3;
    let start = line.char_indices().map(|(at, _)| at).find(|at| line[*at..].width() <= room - head);
    format!("{}{ellipsis}{}", beginning(&line, head), &line[start.unwrap_or(line.len())..])
}

/// As much of the text as fits into `width` columns.
fn beginning(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= width
    };
    text.chars().take_while(fits).collect()
}

/// Returns the text on one line, with single spaces, and with control, direction and invisible characters as escapes.
pub(crate) fn one_line(text: &str) -> String {
    escaped(&text.split_whitespace().collect::<Vec<_>>().join(" "), |_| false)
}

/// Returns the text as [`one_line`] does, but in its own lines.
pub(crate) fn lines(text: &str) -> String {
    escaped(&text.replace("\r\n", "\n"), |c| matches!(c, '\n' | '\t'))
}

/// As [`lines`], for one piece of a text that arrives in pieces. A sequence may be split between pieces, so carriage returns
/// are always removed and joiners always kept.
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
        // A character after a joiner belongs to the symbol before the joiner.
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
        let shorten = |text, width| cut(text, width, "…");
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("a bit longer", 7), "a bit…");
        assert_eq!(shorten("日本語の説明", 7), "日本語…");
        assert_eq!(shorten("two\nlines\x1b[31m", 40), "two lines\\u{1b}[31m");
        assert_eq!(cut("a bit longer", 9, "..."), "a bit...");
    }

    #[test]
    fn names_keep_the_end_that_tells_them_apart() {
        let name = "everything__trigger-elicitation-request";
        for (width, shown) in [
            (39, name),
            (38, "everythi…__trigger-elicitation-request"),
            (32, "ev…__trigger-elicitation-request"),
            (20, "everyt…ation-request"),
            (8, "ev…quest"),
            (0, "…"),
        ] {
            let short = cut_name(name, width, "…");
            assert!(short == shown && short.width() <= width.max(1), "{width}: {short}");
        }
        assert_eq!(cut_name("日本語の説明__説明", 13, "…"), "日本語…__説明");
        assert_eq!(cut_name(name, 20, "..."), "every...tion-request");
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
