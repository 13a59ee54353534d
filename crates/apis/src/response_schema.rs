//! The schema of a result, from that of the response.
//!
//! Clients refuse results that do not match, and APIs often differ from their descriptions. So only names and types are
//! told, nothing is required, and null always passes.

use serde_json::{Map, Value, json};

use crate::{
    document::{ApiDocument, members},
    schema::shortened,
};

/// How deep it describes.
const MAX_DEPTH: usize = 3;

/// How many properties it describes.
const MAX_PROPERTIES: usize = 100;

/// How much of a description is shown, in characters.
const SHOWN: usize = 120;

/// Returns the schema of the result, if every successful response is a JSON object.
pub(crate) fn of(document: &ApiDocument, operation: &Value) -> Option<Value> {
    let mut schemas = Vec::new();
    for (status, response) in members(operation.get("responses")) {
        if !status.starts_with('2') {
            continue;
        }
        schemas.push(json_schema(document.resolve(response).ok()?.value)?);
    }
    let [schema] = schemas[..] else { return None };
    let mut simplified = Simplifier { document, left: MAX_PROPERTIES };
    let properties = simplified.properties(schema, 0)?;
    Some(json!({"type": "object", "properties": properties}))
}

/// Returns the schema of a response that is JSON and nothing else.
fn json_schema(response: &Value) -> Option<&Value> {
    if let Some(schema) = response.get("schema") {
        // Swagger 2.
        return Some(schema);
    }
    let content = response.get("content")?.as_object()?;
    let is_json = |media_type: &String| is_json(media_type);
    match content.keys().all(is_json) {
        true => content.values().next()?.get("schema"),
        false => None,
    }
}

/// Returns whether the media type is JSON.
pub(crate) fn is_json(media_type: &str) -> bool {
    let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    plain.ends_with("/json") || plain.ends_with("+json")
}

struct Simplifier<'a> {
    document: &'a ApiDocument,
    left: usize,
}

impl Simplifier<'_> {
    /// Returns the properties of an object, `None` if the schema is of something else.
    fn properties(&mut self, schema: &Value, depth: usize) -> Option<Map<String, Value>> {
        let schema = self.document.resolve(schema).ok()?.value;
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        if !is_object || schema.get("nullable") == Some(&Value::Bool(true)) && depth == 0 {
            return None;
        }
        let mut properties = Map::new();
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if depth < MAX_DEPTH {
                properties.extend(self.properties(part, depth + 1)?);
            }
        }
        for (name, property) in members(schema.get("properties")) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            properties.insert(name.clone(), self.simple(property, depth + 1));
        }
        let is_known = schema.get("type").is_some() || !properties.is_empty();
        is_known.then_some(properties)
    }

    /// Returns what is told of a value.
    fn simple(&mut self, schema: &Value, depth: usize) -> Value {
        let Ok(found) = self.document.resolve(schema) else { return json!({}) };
        let mut simple = Map::new();
        let kind = found.value.get("type").and_then(Value::as_str);
        match kind {
            Some(kind @ ("string" | "number" | "integer" | "boolean")) => {
                let kind = if kind == "integer" { "number" } else { kind };
                simple.insert("type".to_owned(), json!([kind, "null"]));
            }
            Some("array") => {
                simple.insert("type".to_owned(), json!(["array", "null"]));
                if let Some(items) = found.value.get("items").filter(|_| depth < MAX_DEPTH) {
                    simple.insert("items".to_owned(), self.simple(items, depth + 1));
                }
            }
            Some("object") => {
                simple.insert("type".to_owned(), json!(["object", "null"]));
                if depth < MAX_DEPTH
                    && let Some(properties) = self.properties(found.value, depth)
                    && !properties.is_empty()
                {
                    simple.insert("properties".to_owned(), properties.into());
                }
            }
            _ => {}
        }
        if let Some(text) = found.value.get("description").and_then(Value::as_str) {
            simple.insert("description".to_owned(), shortened(text, SHOWN).into());
        }
        Value::Object(simple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(responses: Value) -> Option<Value> {
        let document = json!({"openapi": "3.0.0", "paths": {}, "components": {"schemas": {
            "Node": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer", "description": "The id"}, "next": {"$ref": "#/components/schemas/Node"},
                "tags": {"type": "array", "items": {"type": "string"}}, "any": {"oneOf": []}}},
        }}});
        let document = ApiDocument::parse(&document.to_string()).unwrap();
        of(&document, &json!({ "responses": responses }))
    }

    // TK-3
    #[test]
    fn names_and_types_of_an_object_are_told() {
        let node = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}});
        let schema = check(json!({"200": node, "404": {}})).unwrap();
        assert_eq!(
            schema["properties"]["id"],
            json!({"type": ["number", "null"], "description": "The id"})
        );
        assert_eq!(schema["properties"]["tags"]["items"], json!({"type": ["string", "null"]}));
        assert_eq!(schema["properties"]["next"]["properties"]["any"], json!({}));
        assert_eq!(schema.get("required"), None);
        let list = json!({"content": {"application/json": {"schema": {"type": "array"}}}});
        let text = json!({"content": {"application/json": {"schema": {"type": "object"}}, "text/plain": {}}});
        for other in
            [json!({"200": list}), json!({"200": node, "204": {}}), json!({"200": text}), json!({})]
        {
            assert_eq!(check(other), None);
        }
    }
}
