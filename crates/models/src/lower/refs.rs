//! `$ref` replaced by what it points to, within bounds.

use serde_json::{Map, Value};

/// How many schemas one tool may grow to, how deep, and how often one may contain itself: hostile schemas double at
/// every level.
const MOST_SCHEMAS: usize = 5_000;
const DEEPEST: usize = 64;

/// The schema without references. What points to itself, or nowhere, ends in a schema that takes anything.
pub(super) fn inline(root: &Value, notes: &mut Vec<String>) -> Value {
    let mut inliner = Inliner { root, open: Vec::new(), left: MOST_SCHEMAS, notes };
    inliner.schema(root, 0)
}

struct Inliner<'a> {
    root: &'a Value,
    /// The references that are being followed.
    open: Vec<&'a str>,
    left: usize,
    notes: &'a mut Vec<String>,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Value {
        let Value::Object(object) = schema else { return schema.clone() };
        if self.left == 0 || depth > DEEPEST {
            self.note("a part of the schema was left out: it is too large or too deep".to_owned());
            return Value::Object(Map::new());
        }
        self.left -= 1;
        match object.get("$ref").and_then(Value::as_str) {
            Some(target) => self.reference(target, object, depth),
            None => Value::Object(self.members(object, depth)),
        }
    }

    /// What the reference points to, with the members beside it, which win.
    fn reference(
        &mut self,
        target: &'a str,
        object: &'a Map<String, Value>,
        depth: usize,
    ) -> Value {
        let beside = self.members(object, depth);
        let found = match target.strip_prefix('#') {
            _ if self.open.contains(&target) => {
                self.note(format!("`{target}` contains itself; it was followed once"));
                None
            }
            Some(pointer) => {
                let found = self.root.pointer(pointer);
                let text = if found.is_some() { "inlined" } else { "dropped: it points nowhere" };
                self.note(format!("`$ref` to `{target}` {text}"));
                found
            }
            None => {
                self.note(format!("`$ref` to `{target}` dropped: it is elsewhere"));
                None
            }
        };
        let mut merged = Map::new();
        if let Some(found) = found {
            self.open.push(target);
            let inlined = self.schema(found, depth + 1);
            self.open.pop();
            match inlined {
                Value::Object(members) => merged = members,
                other if beside.is_empty() => return other,
                _ => {}
            }
        }
        merged.extend(beside);
        Value::Object(merged)
    }

    fn members(&mut self, object: &'a Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut members = Map::new();
        for (key, value) in object {
            let value = match (key.as_str(), value) {
                ("$ref", _) => continue,
                // Reached through references; what is left of them is of no use.
                ("$defs" | "definitions", Value::Object(_)) => continue,
                // Examples of values, in which `$ref` means nothing.
                ("enum" | "const" | "default" | "examples" | "required", _) => value.clone(),
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                    let inlined = named.iter();
                    inlined
                        .map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)))
                        .collect()
                }
                (_, Value::Array(items)) => {
                    items.iter().map(|item| self.schema(item, depth + 1)).collect()
                }
                _ => self.schema(value, depth + 1),
            };
            members.insert(key.clone(), value);
        }
        members
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
