//! Walks over the fields of a line without reading what nobody asks for.

use memchr::{memchr, memchr2};

/// The fields of an object as we write them: no white space between them. Ends at whatever is not like that, so who
/// needs all of them looks whether the last one came.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        Self { rest: line.strip_prefix(b"{").unwrap_or_default() }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    /// The next key and its value, both as they stand there; the key is without its quotes.
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

/// Where the value ends that the text begins with.
fn value_end(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_end(text),
        b'{' | b'[' => nested_end(text),
        _ => text.iter().position(|byte| matches!(byte, b',' | b'}')),
    }
}

/// Where the string ends that the text begins with.
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

/// Where the object or list ends that the text begins with.
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
        Fields::of(line.as_bytes()).map(|(key, value)| (text(key), text(value))).collect()
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
