//! Unions at the top of a schema, merged into one object: no provider takes them there.

use serde_json::{Map, Value, json};

/// How deep unions may stand in unions.
const DEEPEST: usize = 8;

/// The schema without unions at its top, and a sentence that says what was lost.
pub(super) fn flatten(
    root: Map<String, Value>,
    notes: &mut Vec<String>,
) -> (Map<String, Value>, Option<String>) {
    let mut alternatives = Vec::new();
    let mut merged = merge_unions(root, &mut alternatives, notes, 0);
    for key in ["not", "if", "then", "else", "enum", "const", "dependentSchemas"] {
        if merged.shift_remove(key).is_some() {
            notes.push(format!("`{key}` at the top was dropped"));
        }
    }
    let hint =
        (!alternatives.is_empty()).then(|| format!("Give one of: {}.", alternatives.join("; ")));
    (merged, hint)
}

/// Merges `allOf` into an object wherever it stands, as one schema says the same.
pub(super) fn merge_all_of(mut object: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(branches)) = object.shift_remove("allOf") {
        for branch in branches {
            if let Value::Object(branch) = branch {
                absorb(&mut object, merge_all_of(branch), true);
            }
        }
    }
    object
}

fn merge_unions(
    mut object: Map<String, Value>,
    alternatives: &mut Vec<String>,
    notes: &mut Vec<String>,
    depth: usize,
) -> Map<String, Value> {
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = object.shift_remove(key) else { continue };
        notes.push(format!("`{key}` at the top was merged into one object"));
        let all = key == "allOf";
        let branches: Vec<_> = branches
            .into_iter()
            .filter_map(|branch| match branch {
                Value::Object(branch) if depth < DEEPEST => {
                    Some(merge_unions(branch, alternatives, notes, depth + 1))
                }
                _ => None,
            })
            .collect();
        if !all {
            alternatives.extend(branches.iter().filter_map(describe));
            let common = common_required(&branches);
            add_required(&mut object, common);
        }
        for branch in branches {
            absorb(&mut object, branch, all);
        }
    }
    object
}

/// Adds a branch: its properties, and what it requires if `all` branches hold.
fn absorb(object: &mut Map<String, Value>, mut branch: Map<String, Value>, all: bool) {
    if let Some(Value::Object(properties)) = branch.shift_remove("properties") {
        let own = object.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(own) = own {
            for (name, schema) in properties {
                let merged = match own.shift_remove(&name) {
                    Some(before) => either(before, schema),
                    None => schema,
                };
                own.insert(name, merged);
            }
        }
    }
    if let Some(Value::Array(required)) = branch.shift_remove("required")
        && all
    {
        add_required(object, required);
    }
    for (key, value) in branch {
        if all || matches!(&*key, "type") {
            object.entry(key).or_insert(value);
        }
    }
}

/// A schema for what two branches say of one property.
fn either(one: Value, other: Value) -> Value {
    if one == other {
        return one;
    }
    match (choices(&one), choices(&other)) {
        (Some(mut values), Some(more)) => {
            values.extend(more.into_iter().filter(|value| !one_of(&one, value)));
            let mut merged = one;
            if let Value::Object(object) = &mut merged {
                object.shift_remove("const");
                object.insert("enum".to_owned(), Value::Array(values));
            }
            merged
        }
        _ => match one {
            Value::Object(mut object) if object.len() == 1 && object.contains_key("anyOf") => {
                if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
                    branches.push(other);
                }
                Value::Object(object)
            }
            one => json!({"anyOf": [one, other]}),
        },
    }
}

fn one_of(schema: &Value, value: &Value) -> bool {
    choices(schema).is_some_and(|choices| choices.contains(value))
}

fn choices(schema: &Value) -> Option<Vec<Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

fn add_required(object: &mut Map<String, Value>, more: Vec<Value>) {
    if more.is_empty() {
        return;
    }
    let required = object.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in more {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

fn required(branch: &Map<String, Value>) -> &[Value] {
    branch.get("required").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn common_required(branches: &[Map<String, Value>]) -> Vec<Value> {
    let Some((first, rest)) = branches.split_first() else { return Vec::new() };
    let everywhere = |name: &&Value| rest.iter().all(|branch| required(branch).contains(name));
    required(first).iter().filter(everywhere).cloned().collect()
}

/// What one alternative asks for: `path, mode = "write"`.
fn describe(branch: &Map<String, Value>) -> Option<String> {
    let names: Vec<String> = required(branch)
        .iter()
        .filter_map(Value::as_str)
        .map(|name| match branch.get("properties").and_then(|all| all.get(name)?.get("const")) {
            Some(only) => format!("{name} = {only}"),
            None => name.to_owned(),
        })
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
