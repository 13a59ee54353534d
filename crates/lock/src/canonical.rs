//! The canonical form of a definition: what counts, in one order, so that equal definitions have equal bytes.
//!
//! Keys are sorted, and so are lists whose order means nothing: those of a JSON Schema, a prompt's arguments, icons. Fields without a
//! value are left out, and so is `_meta`, which is for programs and may differ each time: it is locked beside the hash, and clients get
//! it as it was locked. Texts are taken as they are: no character is folded or normalised.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Keywords of JSON Schema whose lists have no order.
const SETS: [&str; 6] = ["required", "enum", "type", "anyOf", "oneOf", "allOf"];

/// Keywords whose values are data, not schemas: only their keys are sorted.
const DATA: [&str; 2] = ["default", "const"];

/// Keywords under which the server chooses the keys, which may be called like keywords.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependentRequired",
];

/// How long a text of an icon may be before its hash stands for it: icons may be whole images.
const LONGEST_ICON: usize = 1024;

/// Returns the canonical JSON of an entry of a server's list; `without` names a field that is left out.
pub(crate) fn of_entry(entry: &Map<String, Value>, without: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let counts =
        |(key, value): &(&String, &Value)| Some(key.as_str()) != without && is_included(key, value);
    let fields = entry.iter().filter(counts);
    write_object(fields, &mut out, |key, value, out| match (key, value) {
        ("arguments", Value::Array(arguments)) => write_sorted(arguments, out, write),
        ("icons", Value::Array(icons)) => write_sorted(icons, out, write_icon),
        (key, value) => write_field(key, value, out),
    });
    out
}

/// Returns data with sorted keys.
pub(crate) fn sorted(data: &Value) -> Value {
    serde_json::from_slice(&bytes(data, write_data)).unwrap_or_default()
}

/// Returns whether a field of an entry says anything that counts.
pub(crate) fn is_included(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) if key == "annotations" => !map.is_empty(),
        _ => key != "_meta",
    }
}

/// Returns the hash of canonical JSON as the lock file has it.
pub(crate) fn hash(canonical: &[u8]) -> String {
    let digest = Sha256::digest(canonical);
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in digest {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => write_object(map.iter(), out, write_field),
        Value::Array(values) => write_array(values.iter().map(|value| bytes(value, write)), out),
        scalar => write_scalar(scalar, out),
    }
}

fn write_field(key: &str, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(values) if SETS.contains(&key) => write_sorted(values, out, write),
        Value::Array(values) if key == "examples" => write_sorted(values, out, write_data),
        Value::Object(map) if NAMED.contains(&key) => {
            write_object(map.iter(), out, |_, value, out| match value {
                Value::Array(names) => write_sorted(names, out, write),
                schema => write(schema, out),
            });
        }
        value if DATA.contains(&key) => write_data(value, out),
        value => write(value, out),
    }
}

/// Writes data, in whose lists the order counts.
fn write_data(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => write_object(map.iter(), out, |_, value, out| write_data(value, out)),
        Value::Array(values) => {
            write_array(values.iter().map(|value| bytes(value, write_data)), out);
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_icon(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => write_object(map.iter(), out, |_, value, out| write_icon(value, out)),
        Value::Array(values) => write_sorted(values, out, write_icon),
        Value::String(text) if text.len() > LONGEST_ICON => {
            write_scalar(&Value::String(hash(text.as_bytes())), out);
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_object<'a>(
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    out: &mut Vec<u8>,
    each: impl Fn(&str, &Value, &mut Vec<u8>),
) {
    let mut fields: Vec<_> = fields.collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    out.push(b'{');
    for (position, (key, value)) in fields.into_iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_text(key, out);
        out.push(b':');
        each(key, value, out);
    }
    out.push(b'}');
}

fn write_array(values: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (position, value) in values.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&value);
    }
    out.push(b']');
}

fn write_sorted(values: &[Value], out: &mut Vec<u8>, each: impl Fn(&Value, &mut Vec<u8>)) {
    let mut all: Vec<_> = values.iter().map(|value| bytes(value, &each)).collect();
    all.sort_unstable();
    write_array(all.into_iter(), out);
}

fn bytes(value: &Value, write: impl Fn(&Value, &mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn write_scalar(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_text(text, out),
        // Writing to memory cannot fail.
        scalar => _ = serde_json::to_writer(&mut *out, scalar),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    _ = serde_json::to_writer(&mut *out, text);
}
