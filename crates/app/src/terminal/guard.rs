//! The last check of text for a terminal: the only control sequences that pass are our own colours.
//!
//! Text from elsewhere is made safe where it is put into a page, by `text::one_line` and `text::lines`. If that was
//! forgotten, it is escaped here: it may look worse, but it does not control the terminal.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use switchboard_toolcall::text::is_hidden;

use super::text;

/// The codes that `Paint`, answers and the log use. None of them moves the cursor or hides text.
const COLOURS: [&str; 18] = [
    "0", "1", "2", "3", "22", "23", "31", "32", "33", "34", "35", "36", "39", "1;31", "1;32",
    "1;33", "1;34", "1;36",
];

/// Returns the text with invisible characters escaped, except for our own colours. JSON stays JSON.
pub(crate) fn guarded(shown: &str) -> Cow<'_, str> {
    let is_suspicious = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    if !shown.contains(is_suspicious) {
        return Cow::Borrowed(shown);
    }
    if serde_json::from_str::<IgnoredAny>(shown).is_ok() {
        return Cow::Owned(json(shown));
    }
    let mut guarded = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some(start) = rest.find("\x1b[") {
        let (before, sequence) = rest.split_at(start);
        guarded.push_str(&text::lines(before));
        let end = colour(sequence).unwrap_or(1);
        match end {
            1 => guarded.push_str(&text::lines("\x1b")),
            end => guarded.push_str(&sequence[..end]),
        }
        rest = &sequence[end..];
    }
    guarded.push_str(&text::lines(rest));
    Cow::Owned(guarded)
}

/// Returns data with invisible characters escaped, colours included. JSON, and each line that is JSON, stays JSON.
pub(crate) fn data(shown: &str) -> String {
    let safe = |part: &str| match serde_json::from_str::<IgnoredAny>(part) {
        Ok(_) => json(part),
        Err(_) => text::lines(part),
    };
    match serde_json::from_str::<IgnoredAny>(shown) {
        Ok(_) => json(shown),
        Err(_) => shown.split_inclusive('\n').map(safe).collect(),
    }
}

/// Returns the end of the colour code that the text begins with; `None` if it begins with no code of ours.
fn colour(text: &str) -> Option<usize> {
    let end = text.find('m')?;
    COLOURS.contains(&text.get(2..end)?).then_some(end + 1)
}

/// Writes hidden characters as JSON does; they can only stand in strings there.
fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) && !matches!(c, '\n' | '\t' | '\r') {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    // PO-2
    #[test]
    fn only_our_own_colours_pass() {
        for plain in ["", "a\n\tb", "\u{1b}[31mred\u{1b}[0m \u{1b}[1;31mbold\u{1b}[0m\u{1b}[22m"] {
            assert_eq!(guarded(plain), plain);
        }
        for (hostile, shown) in [
            ("\u{1b}[2J\u{1b}[31mx", "\\u{1b}[2J\u{1b}[31mx"),
            ("\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
            ("\u{1b}]52;c;AAAA\u{7}", "\\u{1b}]52;c;AAAA\\u{7}"),
            ("\u{1b}[", "\\u{1b}["),
            ("\u{1b}\u{1b}[31m", "\\u{1b}\u{1b}[31m"),
            ("\u{9b}31m\rover\u{202e}", "\\u{9b}31m\\rover\\u{202e}"),
        ] {
            assert_eq!(guarded(hostile), shown);
        }
    }

    // PO-2
    #[test]
    fn json_stays_what_it_was() {
        let value = serde_json::json!({"a\u{202e}": ["\u{9b}", "\u{1b}[2J", "\u{e0041}\u{ad}"]});
        let shown = guarded(&value.to_string()).into_owned();
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert_eq!(data(&value.to_string()), shown);
        let lines = format!("{value}\nid,\u{1b}[31mred\r\n{value}\n");
        assert_eq!(data(&lines), format!("{shown}\nid,\\u{{1b}}[31mred\n{shown}\n"));
    }
}
