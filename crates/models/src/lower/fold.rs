//! Schemas for Ollama, whose server reads seven keywords and silently drops the rest: what can be said with the seven
//! is, and limits go into descriptions, where at least the model reads them.

use serde_json::{Map, Value, json};
use switchboard_toolcall::text::shortened;

use super::union::merge_all_of;

/// What the server keeps of a property.
const KEPT: &[&str] = &["type", "anyOf", "items", "description", "enum", "properties", "required"];

/// What a model can keep to when it reads it.
const LIMITS: &[&str] = &[
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "default",
    "examples",
];

/// Annotations whose loss needs no mention.
const SILENT: &[&str] = &["title", "$comment", "deprecated", "readOnly", "writeOnly"];

/// How much of a limit goes into a description.
const LONGEST: usize = 120;

/// The parameters of a tool.
pub(super) fn root(root: Map<String, Value>, notes: &mut Vec<String>) -> Value {
    let mut folded = object(root, "the top", notes);
    // The server has no place for it here; the tool's own description says what it does.
    folded.shift_remove("description");
    Value::Object(folded)
}

fn schema(schema: Value, place: &str, notes: &mut Vec<String>) -> Value {
    match schema {
        Value::Object(members) => Value::Object(object(members, place, notes)),
        // `true` and the like would be a type error in the server.
        _ => json!({}),
    }
}

fn object(members: Map<String, Value>, place: &str, notes: &mut Vec<String>) -> Map<String, Value> {
    let mut members = merge_all_of(members);
    reword(&mut members, place, notes);
    let limits = take_limits(&mut members);
    let mut kept = Map::new();
    for (key, value) in members {
        if KEPT.contains(&&*key) {
            if let Some(value) = keyword(&key, value, place, notes) {
                kept.insert(key, value);
            }
        } else if !SILENT.contains(&&*key) {
            notes.push(format!("`{key}` of {place} was dropped"));
        }
    }
    if !limits.is_empty() {
        notes.push(format!("limits of {place} went into its description: {}", limits.join(", ")));
        let said = kept.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = format!("{said} ({})", limits.join(", "));
        kept.insert("description".to_owned(), json!(text.trim_start()));
    }
    kept
}

/// Says with other keywords what the server would drop.
fn reword(members: &mut Map<String, Value>, place: &str, notes: &mut Vec<String>) {
    if let Some(only) = members.shift_remove("const") {
        notes.push(format!("`const` of {place} became `enum`"));
        members.entry("enum").or_insert_with(|| json!([only]));
    }
    if let Some(branches) = members.shift_remove("oneOf") {
        notes.push(format!("`oneOf` of {place} became `anyOf`"));
        members.entry("anyOf").or_insert(branches);
    }
}

fn take_limits(members: &mut Map<String, Value>) -> Vec<String> {
    let mut limits = Vec::new();
    for key in LIMITS {
        if let Some(value) = members.shift_remove(*key) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            limits.push(format!("{key}: {}", shortened(&value, LONGEST)));
        }
    }
    // Objects used as maps: the type of their values is all there is to know.
    if members
        .get("additionalProperties")
        .is_some_and(|value| value.as_object().is_some_and(|o| !o.is_empty()))
        && let Some(values) = members.shift_remove("additionalProperties")
    {
        limits.push(format!("values: {}", shortened(&values.to_string(), LONGEST)));
    }
    limits
}

fn keyword(key: &str, value: Value, place: &str, notes: &mut Vec<String>) -> Option<Value> {
    Some(match (key, value) {
        ("properties", Value::Object(named)) => {
            let folded = named.into_iter().map(|(name, property)| {
                let property = schema(property, &format!("`{name}`"), notes);
                (name, property)
            });
            Value::Object(folded.collect())
        }
        ("anyOf", Value::Array(branches)) => {
            branches.into_iter().map(|branch| schema(branch, place, notes)).collect()
        }
        ("items", items @ Value::Object(_)) => {
            schema(items, &format!("the items of {place}"), notes)
        }
        ("enum", values @ Value::Array(_)) => values,
        ("description", text @ Value::String(_)) => text,
        ("type", kind @ (Value::String(_) | Value::Array(_))) => kind,
        ("required", Value::Array(names)) => names.into_iter().filter(Value::is_string).collect(),
        // Of a type that the server would reject with the whole request.
        _ => return None,
    })
}
