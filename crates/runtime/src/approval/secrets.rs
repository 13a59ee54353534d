//! Renders arguments for the person who decides: every character that the tool will get, except values that the tool's
//! schema (`format: password`, `writeOnly: true`) or `[policy] secret_arguments` marks as secret. A caller cannot hide
//! anything: a value is shown unless it is certain to be a secret.

mod search;

use std::collections::HashSet;

use serde_json::Value;
use switchboard_toolcall::{ToolPatterns, json};

use search::SecretSearch;

/// Returns the arguments as compact JSON for people.
pub(super) fn arguments_for_people(
    args: &Value,
    schema: &Value,
    secret_names: &ToolPatterns,
) -> String {
    let paths = SecretSearch::new(schema).secrets(args);
    let mut out = String::with_capacity(256);
    match paths.is_empty() && secret_names.is_empty() {
        true => json::write_value(&mut out, args),
        false => ArgumentsWriter { paths, secret_names }.write(&mut out, args, ""),
    }
    json::visible(&out).into_owned()
}

struct ArgumentsWriter<'a> {
    /// JSON pointers to the secrets that the schema knows.
    paths: HashSet<String>,
    secret_names: &'a ToolPatterns,
}

impl ArgumentsWriter<'_> {
    fn write(&self, out: &mut String, value: &Value, path: &str) {
        if self.paths.contains(path) {
            return write_secret(out, value);
        }
        match value {
            Value::Object(fields) => {
                let mut object = json::ObjectWriter::begin(out);
                for (key, value) in fields {
                    let out = object.field(key);
                    match self.secret_names.matches(key) {
                        true => write_secret(out, value),
                        false => self.write(out, value, &search::below(path, key)),
                    }
                }
                object.end();
            }
            Value::Array(items) => {
                let mut index = 0;
                json::write_list(out, items, |out, item| {
                    self.write(out, item, &search::below(path, &index.to_string()));
                    index += 1;
                });
            }
            other => json::write_value(out, other),
        }
    }
}

/// Writes the value's length in place of the value. An empty value is shown as such.
fn write_secret(out: &mut String, value: &Value) {
    let length = match value {
        Value::Null => return out.push_str("null"),
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    };
    json::write_string(out, &format!("[secret, {length} characters]"));
}

#[cfg(test)]
mod tests;
