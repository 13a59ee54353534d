//! The steps from a tool's schema to the one that is sent.

use serde_json::{Map, Value, json};

use super::{fold, refs, union};
use crate::Provider;

/// A schema to send, and what it can no longer say.
pub(super) struct LoweredSchema {
    pub(super) schema: Value,
    /// For the tool's description.
    pub(super) hint: Option<String>,
}

/// Lowers a tool's parameters. A plain object schema comes out as it went in.
pub(super) fn lower(schema: &Value, provider: Provider, notes: &mut Vec<String>) -> LoweredSchema {
    let Value::Object(_) = schema else {
        if !schema.is_null() {
            notes.push(
                "parameters that are not a schema were replaced by an empty object".to_owned(),
            );
        }
        return LoweredSchema { schema: json!({"type": "object", "properties": {}}), hint: None };
    };
    let Value::Object(inlined) = refs::inline(schema, notes) else {
        return LoweredSchema { schema: json!({"type": "object", "properties": {}}), hint: None };
    };
    let (root, hint) = union::flatten(inlined, notes);
    let root = as_object(root, notes);
    let schema = match provider.info().folds_schemas {
        true => fold::root(root, notes),
        false => Value::Object(root),
    };
    LoweredSchema { schema, hint }
}

/// The same schema, sure to be one of an object with properties: what all three providers ask for.
fn as_object(mut root: Map<String, Value>, notes: &mut Vec<String>) -> Map<String, Value> {
    // Meant for other readers than a model.
    for key in ["$schema", "$id", "$comment", "$defs", "definitions"] {
        root.shift_remove(key);
    }
    match root.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => {
            notes.push("the type at the top was made `object`".to_owned());
            root.insert("type".to_owned(), json!("object"));
        }
        None => {
            root.shift_insert(0, "type".to_owned(), json!("object"));
        }
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".to_owned(), json!({}));
    }
    root
}
