//! Makes foreign text safe to show: characters that control a terminal, change the direction of writing or are
//! invisible are escaped. Shortens texts, decodes `%XX` and writes bytes as hex digits.

use std::{borrow::Cow, fmt::Write};

/// Returns the text with every control, direction and invisible character as an escape: `\n`, `\t`, `\u{1b}`, `\u{202e}`.
///
/// Backslashes are not escaped. If escapes must be distinguishable from the same characters in the text, quote the text
/// as JSON first.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Returns the text as [`visible`] does, but with newlines and tabs as they are.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

/// Returns the text on one line, with single spaces, and as [`visible`] does.
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    visible(&words.join(" ")).into_owned()
}

/// Returns whether the character is invisible or changes how others are shown: control characters (C0, DEL, C1), line
/// and paragraph separators, format characters (Unicode Cf) and those that Unicode lets a display ignore.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c if c.is_control() => true,
        '\u{ad}'
        | '\u{34f}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Returns at most `most` characters of the text, and `…` if there are more.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", text[..end].trim_end())),
        None => Cow::Borrowed(text),
    }
}

/// Decodes `%XX`; leaves a `%` without two hex digits, and replaces bytes that are not UTF-8.
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let (bytes, _) = percent_decoded_bytes(text);
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Decodes `%XX`. Returns `None` if a `%` has no two hex digits behind it, or the bytes are not UTF-8.
pub fn percent_decoded_strictly(text: &str) -> Option<String> {
    let (bytes, is_valid) = percent_decoded_bytes(text);
    String::from_utf8(bytes).ok().filter(|_| is_valid)
}

/// Returns the decoded bytes, and whether each `%` has two hex digits behind it.
fn percent_decoded_bytes(text: &str) -> (Vec<u8>, bool) {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (mut bytes, mut is_valid) = (Vec::with_capacity(text.len()), true);
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let code = match tail {
            [high, low, ..] if *first == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match code.and_then(|(high, low)| u8::try_from(16 * high + low).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                is_valid &= *first != b'%';
                bytes.push(*first);
            }
        }
    }
    (bytes, is_valid)
}

/// Writes the bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let (plain, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(plain);
    for c in rest.chars() {
        match c {
            c if !is_escaped(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            other => _ = write!(out, "\\u{{{:x}}}", u32::from(other)),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_reader_cannot_see_is_written_as_an_escape() {
        // PO-2
        for (text, shown) in [
            ("plain, día, 日本語, 🙂", "plain, día, 日本語, 🙂"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\u{9b}31mb\u{7f}\0", "a\\u{9b}31mb\\u{7f}\\u{0}"),
            ("gpj\u{202e}exe", "gpj\\u{202e}exe"),
            ("\u{2066}x\u{2069}\u{200b}\u{feff}", "\\u{2066}x\\u{2069}\\u{200b}\\u{feff}"),
            ("\u{e0041}\u{ad}\u{3164}\u{fe0f}", "\\u{e0041}\\u{ad}\\u{3164}\\u{fe0f}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("a\r\n\tb\\n", "a\\r\\n\\tb\\n"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert!(matches!(visible("as it is"), Cow::Borrowed("as it is")));
    }

    #[test]
    fn percent_signs_are_decoded() {
        for (text, lenient, strict) in [
            ("a b", "a b", Some("a b")),
            ("a%20b%2f%C3%BC", "a b/ü", Some("a b/ü")),
            ("%", "%", None),
            ("%2", "%2", None),
            ("%zz%41", "%zzA", None),
            // `u8::from_str_radix` takes a sign.
            ("%+5", "%+5", None),
            ("%ff", "\u{fffd}", None),
        ] {
            assert_eq!(percent_decoded(text), lenient, "{text}");
            assert_eq!(percent_decoded_strictly(text).as_deref(), strict, "{text}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("日本 語", 3), "日本…");
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn lines_stay_lines() {
        // PO-2
        assert_eq!(visible_lines("a\n\tb"), "a\n\tb");
        assert!(matches!(visible_lines("a\n\tb"), Cow::Borrowed(_)));
        assert_eq!(visible_lines("a\r\n\u{1b}]0;x\u{7}\n"), "a\\r\n\\u{1b}]0;x\\u{7}\n");
    }

    proptest! {
        // PO-2
        #[test]
        fn nothing_hidden_is_left_and_nothing_else_is_changed(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(!shown.contains(is_hidden));
            let seen: String = text.chars().filter(|c| !is_hidden(*c)).collect();
            match text.contains(is_hidden) {
                true => prop_assert!(shown.len() > seen.len()),
                false => prop_assert_eq!(&*shown, &text),
            }
        }
    }
}
