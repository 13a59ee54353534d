//! Iterates over the fields of a line without parsing their values: the tokenizer of `indexed.rs`.

use memchr::{memchr, memchr2};

/// The fields of an object without white space between them. Stops at anything else, so a caller that needs all of them
/// checks for the last one.
pub(crate) struct LineFields<'a> {
    rest: &'a [u8],
}

impl<'a> LineFields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Self {
        Self { rest: line.strip_prefix(b"{").unwrap_or_default() }
    }
}

impl<'a> Iterator for LineFields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    /// Returns the next key, without its quotes, and its raw value.
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.strip_prefix(b"\"")?;
        let (key, rest) = rest.split_at(memchr(b'"', rest)?);
        let rest = rest.strip_prefix(b"\":")?;
        let (value, rest) = rest.split_at_checked(value_end(rest)?)?;
        self.rest = match rest {
            [b',', rest @ ..] => rest,
            [b'}'] => &[],
            _ => return None,
        };
        Some((key, value))
    }
}

/// Returns the length of the value at the start of the text.
fn value_end(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_end(text),
        b'{' | b'[' => nested_end(text),
        _ => text.iter().position(|byte| matches!(byte, b',' | b'}')),
    }
}

/// Returns the length of the string at the start of the text.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the length of the object or list at the start of the text.
fn nested_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    loop {
        match text.get(at)? {
            b'"' => {
                at += string_end(&text[at..])?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        LineFields::of(line.as_bytes()).map(|(key, value)| (text(key), text(value))).collect()
    }

    #[test]
    fn fields_come_as_they_stand_there() {
        let values = [
            "1",
            "-2.5e3",
            "null",
            "true",
            r#""""#,
            r#""a \" } , \\""#,
            "{}",
            r#"{"a":{"b":"}]"},"c":[1,[2]]}"#,
            r#"[{"x":"\\"},"]"]"#,
        ];
        for value in values {
            let field = |key: &str| (key.to_owned(), value.to_owned());
            let line = format!("{{\"k\":{value},\"l\":{value}}}");
            assert_eq!(check(&line), [field("k"), field("l")], "{line}");
        }
    }

    #[test]
    fn what_is_not_ours_ends_it() {
        for line in
            ["", "[]", "{", "{}", "{\"a\"", "{\"a\":", "{\"a\":\"b", "{\"a\":[1", "{ \"a\":1}"]
        {
            assert_eq!(check(line), [], "{line}");
        }
        assert_eq!(check("{\"a\":1,\"b\":\"\\").len(), 1);
        assert_eq!(check("{\"a\":1,b}").len(), 1);
    }
}
