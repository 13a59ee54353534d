//! What matters most about a changed definition.

use serde_json::{Map, Value};

use crate::definition::{DefinitionKind, LockableDefinition};

/// Returns what a person should know first, each as a sentence without a full stop. Of a new tool nothing is dropped or widened.
pub(crate) fn notes(before: Option<&LockableDefinition>, now: &LockableDefinition) -> Vec<String> {
    let Some(before) = before.filter(|_| now.kind == DefinitionKind::Tool) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let (old, new) = (schema(before), schema(now));
    parameters("", old, new, &mut notes);
    let hint = |definition: &LockableDefinition, key: &str| {
        definition.entry.get("annotations").and_then(|hints| hints.get(key)?.as_bool())
    };
    if hint(before, "readOnlyHint") == Some(true) && hint(now, "readOnlyHint") != Some(true) {
        notes.push("it no longer says that it only reads".to_owned());
    }
    if hint(before, "readOnlyHint") != Some(true) && hint(now, "readOnlyHint") == Some(true) {
        notes.push("it now says that it only reads, which may spare it an approval".to_owned());
    }
    if hint(before, "destructiveHint") == Some(false) && hint(now, "destructiveHint") != Some(false)
    {
        notes.push("it no longer says that it destroys nothing".to_owned());
    }
    if hint(before, "openWorldHint") == Some(false) && hint(now, "openWorldHint") != Some(false) {
        notes.push("it may now reach other systems".to_owned());
    }
    notes
}

fn schema(definition: &LockableDefinition) -> &Value {
    definition.entry.get("inputSchema").unwrap_or(&Value::Null)
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn parameters(place: &str, old: &Value, new: &Value, notes: &mut Vec<String>) {
    let empty = Map::new();
    let (before, now) = (properties(old).unwrap_or(&empty), properties(new).unwrap_or(&empty));
    for (name, schema) in now {
        let shown = format!("{place}{name}");
        match before.get(name) {
            None if is_free_text(schema) => {
                notes.push(format!("`{shown}` is a new parameter that takes any text"));
            }
            None => notes.push(format!("`{shown}` is a new parameter")),
            Some(earlier) => {
                if !is_free_text(earlier) && is_free_text(schema) {
                    notes.push(format!("`{shown}` now takes any text"));
                }
                parameters(&format!("{shown}."), earlier, schema, notes);
            }
        }
    }
    let forbids = |schema: &Value| schema.get("additionalProperties") == Some(&Value::Bool(false));
    if forbids(old) && !forbids(new) {
        notes.push("it now takes parameters that it does not name".to_owned());
    }
}

/// Returns whether a parameter takes any text: a model may be told to put anything there.
fn is_free_text(schema: &Value) -> bool {
    let is_text = match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => true,
    };
    let limits =
        ["enum", "const", "format", "pattern", "properties", "items", "$ref", "anyOf", "oneOf"];
    is_text && limits.iter().all(|key| schema.get(key).is_none())
}
