//! Redacts JSON values: keys mark secrets.

use std::borrow::Cow;

use serde_json::{Map, Value};
use switchboard_toolcall::json::{self, write_string};

use super::{
    REDACTED, list,
    names::{Secrecy, is_name, is_value, secrecy},
    value_kinds::{is_one_of, is_placeholder, is_random, is_remark, is_scheme},
    within,
};

/// Shorter keys are not secrets themselves.
const LONG_KEY: usize = 20;

/// Writes values with secrets redacted.
pub(super) struct RedactingWriter {
    pub(super) out: String,
    /// Whether a secret was found.
    pub(super) found: bool,
    /// How many levels of JSON in texts are read.
    levels: u8,
}

impl RedactingWriter {
    pub(super) fn new(levels: u8) -> Self {
        Self { out: String::with_capacity(512), found: false, levels }
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(items) => self.list(items),
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                json::write_value(&mut self.out, value)
            }
        }
    }

    pub(super) fn object(&mut self, object: &Map<String, Value>) {
        self.fields(object, named(object));
    }

    /// Writes an object in which one key names what another holds, as `named` says.
    fn fields(&mut self, object: &Map<String, Value>, named: Option<Secrecy>) {
        self.out.push('{');
        for (index, (key, value)) in object.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            let shown = if key.len() < LONG_KEY { Cow::Borrowed(&**key) } else { within(key, 0) };
            self.found |= matches!(shown, Cow::Owned(_));
            write_string(&mut self.out, &shown);
            self.out.push(':');
            let secrecy = secrecy(key).or_else(|| named.filter(|_| is_value(key)));
            self.guarded(value, secrecy);
        }
        self.out.push('}');
    }

    /// Writes a value whose name marks it as secret as far as `secrecy` says.
    pub(super) fn guarded(&mut self, value: &Value, secrecy: Option<Secrecy>) {
        match (secrecy, value) {
            // A schema describes secrets without holding any, except in its examples.
            (Some(secrecy), Value::Object(object)) if is_schema(object) => {
                self.fields(object, Some(secrecy));
            }
            (Some(secrecy), value) if is_secret(value, secrecy) => self.redact(),
            (_, value) => self.value(value),
        }
    }

    pub(super) fn redact(&mut self) {
        self.found = true;
        write_string(&mut self.out, REDACTED);
    }

    fn text(&mut self, text: &str) {
        let shown = within(text, self.levels);
        self.found |= matches!(shown, Cow::Owned(_));
        write_string(&mut self.out, &shown);
    }

    fn list(&mut self, items: &[Value]) {
        self.out.push('[');
        let is_pairs = list::is_pairs(items);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            match item {
                Value::Array(pair) if is_pairs => self.pair(pair),
                item if list::is_flag_value(items, index) => {
                    self.guarded(item, Some(Secrecy::Strong))
                }
                item => self.value(item),
            }
        }
        self.out.push(']');
    }

    /// Writes a name and its value: `["X-Api-Key", "…"]`.
    fn pair(&mut self, pair: &[Value]) {
        let [name, value] = pair else { return self.list(pair) };
        self.out.push('[');
        self.value(name);
        self.out.push(',');
        self.guarded(value, name.as_str().and_then(secrecy));
        self.out.push(']');
    }
}

/// Returns the secrecy of a pair's value, if the object is one: `{"name": "DB_PASSWORD", "value": …}`.
fn named(object: &Map<String, Value>) -> Option<Secrecy> {
    let mut names = object.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    names.find_map(|(key, name)| secrecy(name).filter(|secrecy| is_name(key, *secrecy)))
}

/// Returns whether the value is a secret, given its name's secrecy.
fn is_secret(value: &Value, secrecy: Secrecy) -> bool {
    match (value, secrecy) {
        (Value::Null | Value::Bool(_), _) => false,
        (Value::Number(_), _) => matches!(secrecy, Secrecy::Strong | Secrecy::Common),
        (Value::String(text), Secrecy::IfRandom) => is_random(text, 16),
        (Value::String(text), _) => {
            let is_word = is_remark(text) || (secrecy != Secrecy::Strong && is_scheme(text));
            !is_placeholder(text) && !is_word
        }
        (Value::Array(_) | Value::Object(_), Secrecy::IfRandom) => false,
        (Value::Array(items), Secrecy::Countable) => {
            items.iter().any(|item| is_secret(item, secrecy))
        }
        (Value::Array(items), _) => !items.is_empty(),
        (Value::Object(object), _) => !object.is_empty(),
    }
}

/// Returns whether the object is a JSON Schema.
fn is_schema(object: &Map<String, Value>) -> bool {
    const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
    #[rustfmt::skip]
    const KEYWORDS: &[&str] = &[
        "type", "title", "description", "format", "minLength", "maxLength", "pattern", "default",
        "const", "enum", "example", "examples", "writeOnly", "readOnly", "deprecated", "nullable",
        "minimum", "maximum", "minItems", "maxItems", "items", "properties", "required",
        "additionalProperties",
    ];
    let has_type =
        object.get("type").and_then(Value::as_str).is_some_and(|kind| is_one_of(kind, TYPES));
    has_type && object.keys().all(|key| is_one_of(key, KEYWORDS) || key.starts_with("x-"))
}
