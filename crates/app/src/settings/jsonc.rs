//! JSON as editors write it: with comments and trailing commas.

/// The text as plain JSON: comments and trailing commas are blanked out, and everything else keeps its place.
pub fn plain(text: &str) -> String {
    let mut plain = text.as_bytes().to_vec();
    let mut comma = None;
    // The byte before the comma: `[,]` and `[1,,]` must stay invalid.
    let mut before = b'[';
    let mut at = 0;
    while let Some(byte) = plain.get(at).copied() {
        let next = plain.get(at + 1).copied();
        let end = match (byte, next) {
            (b'"', _) => end_of_string(&plain, at),
            (b'/', Some(b'/')) => blank(&mut plain, at, b"\n", 0),
            (b'/', Some(b'*')) => blank(&mut plain, at, b"*/", 2),
            _ => at + 1,
        };
        match byte {
            b'/' if end > at + 1 => {}
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' if !b"[{,:".contains(&before) => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            _ => comma = None,
        }
        if !byte.is_ascii_whitespace() && (byte != b'/' || end == at + 1) {
            before = byte;
        }
        at = end;
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

/// The place behind the string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Blanks out what begins at `start` and ends with `end`, of which `swallowed` bytes belong to it; lines stay.
fn blank(text: &mut [u8], start: usize, end: &[u8], swallowed: usize) -> usize {
    let rest = &text[start + 2..];
    let found = rest.windows(end.len()).position(|window| window == end);
    let stop = found.map_or(text.len(), |found| start + 2 + found + swallowed);
    for byte in text[start..stop].iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
    stop
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(text: &str) -> Option<Value> {
        let plain = plain(text);
        assert_eq!(plain.len(), text.len());
        let lines = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(lines(&plain), lines(text));
        serde_json::from_str(&plain).ok()
    }

    // MC-8
    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = "// VS Code's\n{ /* a\nb, */ \"a\": [1, 2, // ü,\n ], \"b\": {\"c\": 1,}, /**/ }\n// end";
        assert_eq!(check(text), Some(json!({"a": [1, 2], "b": {"c": 1}})));
        assert_eq!(check("[1, /* , */\n]"), Some(json!([1])));
        assert_eq!(check("{}//"), Some(json!({})));
    }

    #[test]
    fn strings_stay_as_they_are() {
        let text = r#"{"url": "http://x/*y*/", "q": "a\",]", "s": "\\"}"#;
        assert_eq!(plain(text), text);
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for wrong in ["[,]", "{,}", "[1,,]", "{\"a\":,}", "/*", "[1 /", "{\"a", "\"\\"] {
            assert_eq!(check(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[\\[\\]{}\",/*:\\\\ü1 \n]{0,40}") {
            check(&text);
        }

        #[test]
        fn plain_json_is_unchanged(text in "[\\[\\]{}\",:\\\\1 \n]{0,12}") {
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(plain(&text), text);
            }
        }
    }
}
