//! The text of a call that the full-text search knows: names, arguments, result and error; and words that nobody types, for
//! what came of it.

use std::str;

use crate::line::LineFields;

/// How many bytes of a field are searched: a long result would take longer to index than its call took.
const SEARCHED: usize = 16 << 10;

/// The word of calls that failed. It begins with a character of private use, which is part of a word for FTS5.
pub(crate) const FAILED: &str = "\u{e000}failed";

/// The word of calls whose outcome is unknown; they failed, too.
pub(crate) const UNKNOWN: &str = "\u{e000}unknown";

/// Appends the words of an outcome; none for calls that run or succeeded.
pub(super) fn collect_outcome(outcome: Option<&str>, text: &mut String) {
    let words: &[&str] = match outcome {
        None | Some("ok") => &[],
        Some("outcome_unknown") => &[FAILED, UNKNOWN],
        Some(_) => &[FAILED],
    };
    for word in words {
        text.push(' ');
        text.push_str(word);
    }
}

/// Appends the text of a line, with a space behind each field.
pub(super) fn collect(line: &[u8], text: &mut String) {
    for (key, value) in LineFields::of(line) {
        let is_searched = matches!(
            key,
            b"tool"
                | b"shown_as"
                | b"caller"
                | b"client"
                | b"arguments"
                | b"server"
                | b"found"
                | b"result"
                | b"result_head"
                | b"error"
                | b"hint"
        );
        if is_searched {
            unescape(beginning(value), text);
            text.push(' ');
        }
    }
}

/// Returns as much of a field as is searched.
fn beginning(value: &[u8]) -> &str {
    let value = &value[..value.len().min(SEARCHED)];
    match str::from_utf8(value) {
        Ok(text) => text,
        // The cut may be within a character.
        Err(error) => str::from_utf8(&value[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Appends JSON so that words are words: `\n` is a space, not the letter n, also in JSON within a text.
fn unescape(mut json: &str, text: &mut String) {
    while let Some(at) = memchr::memchr(b'\\', json.as_bytes()) {
        let (before, rest) = json.split_at(at);
        text.push_str(before);
        json = rest.trim_start_matches('\\');
        let escaped = json.chars().next();
        match escaped {
            Some('u') => {
                match json.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                    Some(code) => {
                        text.push(char::from_u32(code).unwrap_or(' '));
                        json = &json[5..];
                    }
                    None => text.push(' '),
                }
            }
            Some('n' | 'r' | 't' | 'b' | 'f') => {
                text.push(' ');
                json = &json[1..];
            }
            _ => text.push(' '),
        }
    }
    text.push_str(json);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> String {
        let mut text = String::new();
        collect(line.as_bytes(), &mut text);
        text
    }

    #[test]
    fn words_are_what_people_read() {
        let found = check(
            r#"{"open":"X","at":"2026","tool":"a__b","arguments":{"text":"one\ntwo \"three\" gr\u00fcn"},"caller":"c","tick":7}"#,
        );
        assert_eq!(found, "\"a__b\" {\"text\":\"one two  \"three \" grün\"} \"c\" ");
        let nested = check(r#"{"end":"X","outcome":"ok","result":"{\"a\": \"b\\nc\"}","tick":7}"#);
        assert_eq!(nested, "\"{ \"a \":  \"b c \"}\" ");
        assert_eq!(check(r#"{"end":"X","error":"broken\u12"}"#), "\"broken u12\" ");
        assert_eq!(check("nonsense"), "");
    }

    #[test]
    fn long_fields_are_searched_at_their_beginning() {
        let line =
            format!("{{\"end\":\"X\",\"result\":\"{}\",\"error\":\"e\"}}", "ü".repeat(20_000));
        let found = check(&line);
        assert!(found.len() < SEARCHED + 8 && found.ends_with("ü \"e\" "), "{}", found.len());
    }
}
