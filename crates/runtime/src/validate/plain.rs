//! Recognises schemas that are certain to compile: most are.
//!
//! Those are compiled at the first call: compiling takes longer than everything else at startup, and a server may have
//! thousands that are never called.

use serde_json::{Map, Value};

/// Returns whether the schema has only keywords that are known to compile, in every draft that it may be of.
pub(super) fn is_plain(schema: &Value) -> bool {
    let definitions =
        ["$defs", "definitions"].map(|key| schema.get(key).and_then(Value::as_object));
    let root = PlainSchemaRoot { definitions };
    let is_known = |dialect: &Value| dialect.as_str().is_some_and(|text| DIALECTS.contains(&text));
    schema.get("$schema").is_none_or(is_known)
        && definitions
            .into_iter()
            .flatten()
            .flat_map(Map::values)
            .all(|schema| root.is_plain(schema))
        && schema.as_object().is_some_and(|object| {
            object.iter().all(|(key, value)| {
                matches!(key.as_str(), "$schema")
                    || is_definitions(key, value)
                    || root.takes(key, value)
            })
        })
}

/// Returns whether a plain schema of draft 2019-09 or 2020-12 means the same in draft 7, which validates `format` (this
/// can be turned off) and ignores what is beside a `$ref`.
pub(super) fn drafts_agree(schema: &Value) -> bool {
    let is_new =
        |dialect: &Value| dialect.as_str().is_some_and(|text| DIALECTS[..2].contains(&text));
    schema.get("$schema").is_none_or(is_new) && !schema.to_string().contains("\"$ref\"")
}

/// The drafts that agree on the keywords below, the newest first.
const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
];

const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

fn is_definitions(key: &str, value: &Value) -> bool {
    matches!(key, "$defs" | "definitions") && value.is_object()
}

/// The document that references lead into.
struct PlainSchemaRoot<'a> {
    definitions: [Option<&'a Map<String, Value>>; 2],
}

impl PlainSchemaRoot<'_> {
    fn is_plain(&self, schema: &Value) -> bool {
        match schema {
            Value::Bool(_) => true,
            Value::Object(object) => object.iter().all(|(key, value)| self.takes(key, value)),
            _ => false,
        }
    }

    /// Returns whether the keyword is known and its value valid.
    fn takes(&self, key: &str, value: &Value) -> bool {
        let is_plain = |schema: &Value| self.is_plain(schema);
        match key {
            "type" => value.as_str().map_or_else(|| are_types(value), is_type),
            "properties" => value.as_object().is_some_and(|map| map.values().all(is_plain)),
            "required" => are_unique_strings(value),
            "items" | "additionalProperties" => self.is_plain(value),
            "anyOf" | "oneOf" | "allOf" => {
                value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_plain))
            }
            "$ref" => value.as_str().is_some_and(|reference| self.knows(reference)),
            "enum" => value.as_array().is_some_and(|list| !list.is_empty() && are_unique(list)),
            "const" | "default" => true,
            "examples" => value.is_array(),
            "description" | "title" | "$comment" | "format" => value.is_string(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.as_u64().is_some(),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
            _ => key.starts_with("x-"),
        }
    }

    fn knows(&self, reference: &str) -> bool {
        let is_simple =
            |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let has = |definitions: Option<&Map<String, Value>>, prefix| {
            let name = reference.strip_prefix(prefix).filter(|name| is_simple(name));
            name.zip(definitions).is_some_and(|(name, definitions)| definitions.contains_key(name))
        };
        let [new, old] = self.definitions;
        has(new, "#/$defs/") || has(old, "#/definitions/")
    }
}

fn is_type(name: &str) -> bool {
    TYPES.contains(&name)
}

fn are_types(value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().is_some_and(is_type);
    value
        .as_array()
        .is_some_and(|list| !list.is_empty() && list.iter().all(is_type) && are_unique(list))
}

fn are_unique_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string) && are_unique(list))
}

/// How many items are compared with each other; longer lists are left to the validator.
const MOST_COMPARED: usize = 256;

fn are_unique(list: &[Value]) -> bool {
    list.len() <= MOST_COMPARED
        && list.iter().enumerate().all(|(at, value)| !list[..at].contains(value))
}
