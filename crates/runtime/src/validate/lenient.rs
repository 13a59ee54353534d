//! Lets extra parameters at the top level pass (SPEC VA-3), whatever the schema says.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The keywords that forbid extra parameters.
const CLOSING: &[&str] = &["additionalProperties", "unevaluatedProperties"];

/// Keywords whose subschemas apply to the same object.
const SAME_OBJECT: &[&str] = &["allOf", "anyOf", "oneOf", "then", "else"];

/// How many references are followed before the schema is left as it is.
const MOST_REFERENCES: usize = 64;

/// How many values are copied to open a reference's target, before the schema is left as it is.
const MOST_COPIED: usize = 20_000;

/// Returns the schema with its top level open to extra parameters.
pub(super) fn top_level(schema: &Value) -> Cow<'_, Value> {
    if !is_closed(schema, schema, &mut 0) {
        return Cow::Borrowed(schema);
    }
    let mut opened = schema.clone();
    open(&mut opened, schema, &mut 0, &mut 0);
    Cow::Owned(opened)
}

/// Returns whether anything that applies to the top level forbids extra parameters.
fn is_closed(schema: &Value, root: &Value, references: &mut usize) -> bool {
    let Some(object) = schema.as_object() else {
        return false;
    };
    let mut inner = SAME_OBJECT.iter().filter_map(|keyword| object.get(*keyword));
    CLOSING.iter().any(|keyword| object.contains_key(*keyword))
        || inner.any(|value| each(value).any(|schema| is_closed(schema, root, references)))
        || target(object, root, references)
            .is_some_and(|schema| is_closed(schema, root, references))
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    let (list, single) = match value {
        Value::Array(list) => (list.as_slice(), None),
        other => (&[][..], Some(other)),
    };
    list.iter().chain(single)
}

/// Returns the target of a `$ref` within the document.
fn target<'a>(
    object: &Map<String, Value>,
    root: &'a Value,
    references: &mut usize,
) -> Option<&'a Value> {
    let pointer = object.get("$ref")?.as_str()?.strip_prefix('#')?;
    *references += 1;
    (*references <= MOST_REFERENCES).then(|| root.pointer(pointer))?
}

fn open(schema: &mut Value, root: &Value, references: &mut usize, copied: &mut usize) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for keyword in CLOSING {
        object.remove(*keyword);
    }
    for keyword in SAME_OBJECT {
        match object.get_mut(*keyword) {
            Some(Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| open(schema, root, references, copied));
            }
            Some(schema) => open(schema, root, references, copied),
            None => {}
        }
    }
    // The target may be used deeper down too, where it must stay closed: so a copy is opened.
    if let Some(target) = target(object, root, references)
        && is_closed(target, root, &mut 0)
    {
        *copied += values(target);
        if *copied > MOST_COPIED {
            return;
        }
        let mut copy = target.clone();
        open(&mut copy, root, references, copied);
        object.remove("$ref");
        let all = object.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            all.push(copy);
        }
    }
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(values).sum::<usize>(),
        _ => 1,
    }
}
