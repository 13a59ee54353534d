//! Arguments that match a tool's schema.

use serde_json::{Map, Value, json};

/// How deep optional members are given.
const DEPTH: usize = 2;

/// Returns arguments for a schema: everything it names at the top, what is required below.
pub(crate) fn arguments(schema: &Value) -> Value {
    object(schema, schema, 0)
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| {
        depth < DEPTH && required.is_empty() || depth == 0 || required.contains(&name.as_str())
    });
    Value::Object(
        members.map(|(name, schema)| (name.clone(), value(schema, root, depth + 1))).collect(),
    )
}

fn value(schema: &Value, root: &Value, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = root.pointer(reference.trim_start_matches('#')).unwrap();
        return if depth > 12 { json!({}) } else { value(found, root, depth + 1) };
    }
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(first) = schema[key].as_array().and_then(|choices| choices.first()) {
            // A choice adds to what stands beside it.
            return merged(value(first, root, depth), object(schema, root, depth));
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| value(part, root, depth));
        return parts.fold(object(schema, root, depth), |all, part| merged(part, all));
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => text(schema).into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => true.into(),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(1).max(1);
            (0..count).map(|_| value(&schema["items"], root, depth + 1)).collect()
        }
        Some("null") => Value::Null,
        Some("object") => object(schema, root, depth),
        _ if schema.get("properties").is_some() => object(schema, root, depth),
        _ => "text".into(),
    }
}

fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => {
            Value::Object(second.into_iter().chain(first).collect::<Map<_, _>>())
        }
        (first, _) => first,
    }
}

fn text(schema: &Value) -> String {
    let usual = match schema["format"].as_str() {
        Some("date-time") => "2026-11-18T10:00:00Z",
        Some("date") => "2026-11-18",
        Some("uri" | "url") => "https://example.com/a",
        Some("email") => "a@example.com",
        Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
        _ => "text",
    };
    let usual = match schema["pattern"].as_str() {
        Some(pattern) if pattern.contains("sha256:") => format!("sha256:{}", "a".repeat(64)),
        Some(pattern) if pattern.contains("\\.\\d") => "1.0.0".to_owned(),
        Some(pattern) if pattern.contains("ssh-") => "ssh-rsa AAAA".to_owned(),
        Some(pattern) if pattern.contains("A-Za-z0-9+/]{4}") => "dGV4dA==".to_owned(),
        Some(pattern) if pattern.contains("[0-9]+$") || pattern.contains("\\d") => "1".to_owned(),
        Some(pattern) if pattern.contains("0-9a-fA-F]+") || pattern.contains("a-f") => {
            "a".repeat(40)
        }
        _ => usual.to_owned(),
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap();
    let most =
        schema["maxLength"].as_u64().map_or(usize::MAX, |most| usize::try_from(most).unwrap());
    let text: String = usual.chars().take(most).collect();
    if text.len() < least { format!("{text}{}", "a".repeat(least - text.len())) } else { text }
}
