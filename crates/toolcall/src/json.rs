//! A fast JSON writer: text that needs no escaping is copied many bytes at a time.
//!
//! Writes what `serde_json` writes, in half the time for a text of 200 bytes (`cargo bench -p switchboard-toolcall`).

use std::{borrow::Cow, fmt::Write};

use serde_json::{Map, Value};

use crate::text;

/// How many bytes are checked at once.
const TOGETHER: usize = 32;

/// Appends a value.
pub fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_list(out, items, write_value),
        Value::Object(fields) => write_object(out, fields),
    }
}

/// Appends a list, whose items `write` writes.
pub fn write_list<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// Appends an object.
pub fn write_object(out: &mut String, fields: &Map<String, Value>) {
    let mut object = ObjectWriter::begin(out);
    object.fields(fields);
    object.end();
}

/// Appends a quoted text.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = first_special(rest.as_bytes()) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        escape(out, special.as_bytes()[0]);
        rest = &special[1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns the JSON with every invisible character escaped: the same JSON, for people to read.
pub fn visible(json: &str) -> Cow<'_, str> {
    // White space between values does not belong to a text.
    let is_hidden = |c: char| text::is_hidden(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_hidden(c) {
            // Writing to a string cannot fail.
            true => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}"))
            }
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Writes an object.
pub struct ObjectWriter<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Begins an object.
    pub fn begin(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, is_empty: true }
    }

    /// Begins a field; append its value to the returned string.
    pub fn field(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        write_string(self.out, key);
        self.out.push(':');
        self.out
    }

    /// Appends all of these fields.
    pub fn fields(&mut self, fields: &Map<String, Value>) {
        fields.iter().for_each(|(key, value)| write_value(self.field(key), value));
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.push('}');
    }
}

/// Returns the position of the first byte that must be escaped. Those are ASCII, so none is part of another character.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    // Without an early exit, so that the compiler can vectorise the loop.
    let any = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | is_special(byte));
    let from = bytes.chunks(TOGETHER).position(any)? * TOGETHER;
    bytes[from..].iter().position(is_special).map(|at| from + at)
}

fn escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        // Writing to a string cannot fail.
        other => _ = write!(out, "\\u{other:04x}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(value: &Value) {
        let mut written = String::new();
        write_value(&mut written, value);
        assert_eq!(written, value.to_string());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let fields = prop::collection::btree_map(any::<String>(), inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        // RS-3
        #[test]
        fn values_are_written_as_serde_json_writes_them(value in values()) {
            check(&value);
        }
    }

    #[test]
    fn hidden_characters_are_escaped_and_the_json_stays_the_same() {
        // PO-2
        let value = json!({"a\u{202e}": ["\u{1b}[31m", "\u{9b}\u{7f}\u{e0041}", "día\n"]});
        let shown = visible(&value.to_string()).into_owned();
        assert_eq!(shown, r#"{"a\u202e":["\u001b[31m","\u009b\u007f\udb40\udc41","día\n"]}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        assert!(matches!(visible("{\n  \"a\": 1\n}"), Cow::Borrowed(_)));
    }

    #[test]
    fn everything_special_is_escaped_wherever_it_stands() {
        let all: String = (0..=0x7f).map(char::from).collect();
        check(&json!(all));
        for special in ["\"", "\\", "\n", "\u{1}", "\u{1f}"] {
            for before in [0, 1, 31, 32, 33, 100] {
                let around = "é".repeat(before);
                check(&json!(format!("{around}{special}{around}{special}")));
            }
        }
        let digits: Value =
            serde_json::from_str("[1.0, 1e400, -0, 12345678901234567890123]").unwrap();
        check(&digits);
    }
}
