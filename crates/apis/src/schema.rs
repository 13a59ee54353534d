//! Schemas of a description → JSON Schema of 2020-12, self-contained: what is referred to goes into `$defs`.
//!
//! References are not expanded where they stand, so cycles need no care, and a small description cannot become a large tool.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use switchboard_toolcall::text::{self, is_hidden};

use crate::document::{ApiDocument, Version, members, reference};

/// What each subschema counts, beside its texts and values, in bytes.
const SUBSCHEMA: usize = 16;

/// How much of a description is shown, in characters.
const SHOWN: usize = 500;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 11] = [
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
const SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value has schemas by name.
const NAMED: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];
/// Keywords that stay as they are. The others are for people, for editors, or not of JSON Schema.
const KEPT: [&str; 21] = [
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "enum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "uniqueItems",
];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Converts the schemas of one tool's arguments.
pub(crate) struct SchemaConverter<'a> {
    document: &'a ApiDocument,
    /// The names of definitions, by the pointers of what they define.
    names: IndexMap<String, String>,
    taken: HashSet<String>,
    /// How large the result may be, and is by now, in bytes of text.
    most: usize,
    size: usize,
}

impl<'a> SchemaConverter<'a> {
    /// Creates a converter whose result may have about `most` bytes of text.
    pub(crate) fn new(document: &'a ApiDocument, most: usize) -> Self {
        Self { document, names: IndexMap::new(), taken: HashSet::new(), most, size: 0 }
    }

    /// Converts a schema of a request; what is `readOnly` is left out.
    ///
    /// # Errors
    /// A reference leads nowhere, or there is too much.
    pub(crate) fn convert(&mut self, schema: &Value) -> Result<Value, String> {
        self.grow(SUBSCHEMA)?;
        let Value::Object(schema) = schema else {
            // Booleans are schemas of 3.1; anything else is a mistake that says nothing.
            return Ok(Value::Bool(schema != &Value::Bool(false)));
        };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.refer(reference, schema);
        }
        let mut converted = Map::new();
        let left_out = self.read_only(schema);
        for (key, value) in schema {
            if let Some(value) = self.keyword(key, value, &left_out)? {
                converted.insert(key.clone(), value);
            }
        }
        exclusive_limits(schema, &mut converted);
        let is_nullable = ["nullable", "x-nullable"]
            .iter()
            .any(|key| schema.get(*key) == Some(&Value::Bool(true)));
        let is_null = is_nullable && self.document.version != Version::OpenApi31;
        Ok(Value::Object(if is_null { nullable(converted) } else { converted }))
    }

    /// Returns the definitions that were referred to, by name, and the size of everything.
    ///
    /// # Errors
    /// As [`convert`](Self::convert).
    pub(crate) fn definitions(mut self) -> Result<(Map<String, Value>, usize), String> {
        let mut definitions = Map::new();
        // Converting one may add others.
        while let Some((pointer, name)) = self.names.get_index(definitions.len()) {
            let name = name.clone();
            let found = self.document.at(&format!("#{pointer}"))?.value;
            let converted = self.convert(found)?;
            definitions.insert(name, converted);
        }
        Ok((definitions, self.size))
    }

    fn grow(&mut self, bytes: usize) -> Result<(), String> {
        self.size = self.size.saturating_add(bytes);
        match self.size > self.most {
            true => Err(format!("its schema is larger than {} KiB", self.most / 1024)),
            false => Ok(()),
        }
    }

    fn keyword(
        &mut self,
        key: &str,
        value: &Value,
        left_out: &HashSet<&str>,
    ) -> Result<Option<Value>, String> {
        Ok(match (key, value) {
            ("items", Value::Array(items)) => Some(self.all(items)?.into()),
            ("patternProperties" | "dependentSchemas", Value::Object(_))
            | ("properties", Value::Object(_)) => {
                let mut named = Map::new();
                let shown =
                    members(Some(value)).filter(|(name, _)| !left_out.contains(name.as_str()));
                for (name, schema) in shown {
                    self.grow(name.len())?;
                    named.insert(name.clone(), self.convert(schema)?);
                }
                Some(Value::Object(named))
            }
            (key, _) if NAMED.contains(&key) => None,
            (key, value) if SCHEMA.contains(&key) => Some(self.convert(value)?),
            (key, Value::Array(items)) if SCHEMAS.contains(&key) => match items.is_empty() {
                true => None,
                false => Some(self.all(items)?.into()),
            },
            ("required", Value::Array(names)) => {
                let names = names
                    .iter()
                    .filter(|name| name.as_str().is_some_and(|name| !left_out.contains(name)));
                let mut seen = HashSet::new();
                let names: Vec<_> =
                    names.filter(|name| seen.insert(name.as_str())).cloned().collect();
                (!names.is_empty()).then(|| names.into())
            }
            ("enum", Value::Array(values)) if values.is_empty() => None,
            ("type", kind) => known_type(kind),
            ("description", Value::String(text)) => {
                let text = shortened(text, SHOWN);
                self.grow(text.len())?;
                (!text.is_empty()).then(|| text.into())
            }
            (key, value) if KEPT.contains(&key) => {
                self.grow(size(value))?;
                Some(value.clone())
            }
            _ => None,
        })
    }

    fn all(&mut self, schemas: &[Value]) -> Result<Vec<Value>, String> {
        schemas.iter().map(|schema| self.convert(schema)).collect()
    }

    /// Returns the names of the properties that only responses have.
    fn read_only<'s>(&self, schema: &'s Map<String, Value>) -> HashSet<&'s str> {
        let properties = members(schema.get("properties"));
        let is_read_only = |schema: &Value| {
            let schema = self.document.resolve(schema).map_or(schema, |found| found.value);
            schema.get("readOnly") == Some(&Value::Bool(true))
        };
        let found = properties.filter(|(_, schema)| is_read_only(schema));
        found.map(|(name, _)| name.as_str()).collect()
    }

    fn refer(&mut self, to: &str, schema: &Map<String, Value>) -> Result<Value, String> {
        let mut found = self.document.at(to)?;
        // A reference to a reference refers to what that one refers to.
        if reference(found.value).is_some() {
            found = self.document.resolve(found.value)?;
        }
        let pointer = found.pointer.unwrap_or_default();
        let name = match self.names.get(&pointer) {
            Some(name) => name.clone(),
            None => self.name(pointer),
        };
        let mut converted = Map::new();
        converted.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        // Before 3.1, what stands beside a reference has no meaning, but a description is meant all the same.
        let description = schema.get("description").and_then(Value::as_str);
        if let Some(text) = description.map(|text| shortened(text, SHOWN)) {
            converted.insert("description".to_owned(), text.into());
        }
        Ok(Value::Object(converted))
    }

    /// Gives a definition a name that needs no escapes in a pointer.
    fn name(&mut self, pointer: String) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
        let last: String = last.chars().map(|c| if plain(c) { c } else { '_' }).take(64).collect();
        let first = if last.is_empty() { "schema".to_owned() } else { last };
        let more = (2..).map(|number| format!("{first}_{number}"));
        let mut names = std::iter::once(first.clone()).chain(more);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        self.names.insert(pointer, name.clone());
        name
    }
}

/// Before 3.1, `exclusiveMinimum: true` said that `minimum` itself is excluded.
fn exclusive_limits(schema: &Map<String, Value>, converted: &mut Map<String, Value>) {
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match schema.get(flag) {
            Some(Value::Bool(true)) => {
                if let Some(value) = converted.shift_remove(limit) {
                    converted.insert(flag.to_owned(), value);
                }
            }
            Some(number @ Value::Number(_)) => {
                _ = converted.insert(flag.to_owned(), number.clone())
            }
            _ => {}
        }
    }
}

/// Returns a type, or a list of types, without what JSON Schema does not know.
fn known_type(kind: &Value) -> Option<Value> {
    match kind {
        // Of Swagger 2: a file of a form.
        Value::String(kind) if kind == "file" => Some("string".into()),
        Value::String(name) => TYPES.contains(&name.as_str()).then(|| kind.clone()),
        Value::Array(kinds) => {
            let kinds: Vec<_> = kinds.iter().filter_map(known_type).collect();
            (!kinds.is_empty()).then(|| kinds.into())
        }
        _ => None,
    }
}

/// Returns about how many bytes of text a value has.
fn size(value: &Value) -> usize {
    4 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + size(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Lets null pass.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(Value::String(kind)) = schema.get("type") {
        let kinds = json!([kind, "null"]);
        schema.insert("type".to_owned(), kinds);
        return schema;
    }
    let is_combined = SCHEMAS.iter().any(|key| schema.contains_key(*key));
    match is_combined {
        true => Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "null"}]))]),
        false => schema,
    }
}

/// Returns a text without characters that nobody sees, of at most `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let seen: String =
        text.chars().filter(|c| !is_hidden(*c) || matches!(c, '\n' | '\t')).collect();
    text::shortened(seen.trim(), most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(version: &str, schema: &Value) -> Result<(Value, Map<String, Value>), String> {
        convert_within(1 << 20, version, schema)
    }

    fn convert_within(
        most: usize,
        version: &str,
        schema: &Value,
    ) -> Result<(Value, Map<String, Value>), String> {
        let document = json!({"openapi": version, "paths": {}, "components": {"schemas": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"},
                "other": {"$ref": "#/components/schemas/Alias"}}},
            "Alias": {"$ref": "#/components/schemas/Node"},
            "A/B": {"type": "string", "example": "x", "x-vendor": 1, "xml": {}},
        }}});
        let document = ApiDocument::parse(&document.to_string()).unwrap();
        let mut converter = SchemaConverter::new(&document, most);
        let converted = converter.convert(schema)?;
        Ok((converted, converter.definitions()?.0))
    }

    // TK-3
    #[test]
    fn schemas_of_every_version_become_json_schema() {
        for (version, schema, expected) in [
            (
                "3.0.0",
                json!({"type": "string", "nullable": true, "enum": ["a"], "example": "a"}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                "3.0.0",
                json!({"nullable": true, "oneOf": [{"type": "string"}]}),
                json!({"anyOf": [{"oneOf": [{"type": "string"}]}, {"type": "null"}]}),
            ),
            (
                "3.0.0",
                json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}),
                json!({"type": "integer", "maximum": 5, "exclusiveMinimum": 1}),
            ),
            (
                "3.1.0",
                json!({"type": ["string", "null"], "exclusiveMinimum": 3, "const": 1, "$id": "x"}),
                json!({"type": ["string", "null"], "const": 1, "exclusiveMinimum": 3}),
            ),
            (
                "3.0.0",
                json!({"type": "object", "required": ["a", "id", "a", 3], "properties": {"id": {"type": "integer", "readOnly": true}, "a": {"type": "any"}}}),
                json!({"type": "object", "required": ["a"], "properties": {"a": {}}}),
            ),
            (
                "3.0.0",
                json!({"type": "string", "required": true, "enum": [], "allOf": []}),
                json!({"type": "string"}),
            ),
            ("3.1.0", json!(true), json!(true)),
            (
                "3.0.0",
                json!({"items": {"type": "file"}, "description": " a\u{202e}\u{0}b\u{1b} "}),
                json!({"items": {"type": "string"}, "description": "ab"}),
            ),
        ] {
            assert_eq!(convert(version, &schema).unwrap().0, expected, "{schema}");
        }
    }

    // TK-3
    #[test]
    fn references_become_definitions_even_in_cycles() {
        let schema = json!({"type": "array", "items": {"$ref": "#/components/schemas/Alias", "description": "it"}});
        let (converted, definitions) = convert("3.0.0", &schema).unwrap();
        assert_eq!(converted["items"], json!({"$ref": "#/$defs/Node", "description": "it"}));
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "other": {"$ref": "#/$defs/Node"}}});
        assert_eq!(Value::Object(definitions), json!({"Node": node}));
        let (converted, definitions) =
            convert("3.1.0", &json!({"$ref": "#/components/schemas/A~1B"})).unwrap();
        assert_eq!(
            (converted, Value::Object(definitions)),
            (json!({"$ref": "#/$defs/A_1B"}), json!({"A_1B": {"type": "string"}}))
        );
        assert!(convert("3.0.0", &json!({"$ref": "#/gone"})).unwrap_err().contains("not there"));
        let long = json!({"enum": ["x".repeat(2000)]});
        assert!(convert_within(1024, "3.0.0", &long).unwrap_err().contains("larger than 1 KiB"));
    }
}
