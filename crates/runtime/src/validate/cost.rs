//! Bounds what a hostile schema can cost before it is ever compiled.
//!
//! A reference is checked again wherever it stands, so twenty-four levels that refer to the next one twice
//! mean sixteen million checks. Recursive schemas multiply with the depth of the arguments instead, so they
//! are judged when the arguments are there.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaError;

/// How many subschemas one check may visit.
pub(super) const MOST_SUBSCHEMAS: u64 = 100_000;

/// How much work recursion may cause for one call.
const MOST_VISITS: u64 = 1_000_000;

/// Counts what the schema expands to, and returns by how much recursion multiplies with each level.
pub(super) fn branching(schema: &Value) -> Result<u64, SchemaError> {
    let mut count = Count { root: schema, done: HashMap::new(), open: Vec::new(), branching: 1 };
    let expanded = count.value(schema);
    match expanded.visits > MOST_SUBSCHEMAS {
        true => Err(SchemaError::TooCostly),
        false => Ok(count.branching),
    }
}

/// Whether checking arguments of this depth would take too long.
pub(super) fn too_deep(args: &Value, branching: u64) -> bool {
    branching > 1 && {
        let mut visits: u64 = 1;
        (0..depth(args)).any(|_| {
            visits = visits.saturating_mul(branching);
            visits > MOST_VISITS
        })
    }
}

fn depth(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

struct Count<'a> {
    root: &'a Value,
    /// References counted already.
    done: HashMap<&'a str, Expanded>,
    /// References being counted: meeting one again means recursion.
    open: Vec<&'a str>,
    branching: u64,
}

/// What a schema expands to.
#[derive(Clone, Copy, Default)]
struct Expanded {
    /// Subschemas visited.
    visits: u64,
    /// How often it comes back to a reference that is being counted.
    returns: u64,
}

impl Expanded {
    fn add(&mut self, other: Self) {
        self.visits = self.visits.saturating_add(other.visits);
        self.returns = self.returns.saturating_add(other.returns);
    }
}

impl<'a> Count<'a> {
    fn value(&mut self, value: &'a Value) -> Expanded {
        let mut sum = Expanded::default();
        match value {
            Value::Object(object) => {
                sum.visits = 1;
                for (key, value) in object {
                    match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                            sum.add(self.reference(reference));
                        }
                        // Definitions cost nothing until they are referred to.
                        (
                            "$defs" | "definitions" | "enum" | "const" | "default" | "examples",
                            _,
                        ) => {}
                        (_, value) => sum.add(self.value(value)),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| sum.add(self.value(item))),
            _ => {}
        }
        sum
    }

    fn reference(&mut self, reference: &'a str) -> Expanded {
        if self.open.contains(&reference) || reference == "#" && !self.open.is_empty() {
            return Expanded { visits: 1, returns: 1 };
        }
        if let Some(known) = self.done.get(reference) {
            return *known;
        }
        // What cannot be found by pointer (an anchor, an `$id`) is taken as the whole document.
        let pointer = reference.strip_prefix('#').unwrap_or("");
        let target = self.root.pointer(pointer).unwrap_or(self.root);
        self.open.push(reference);
        let expanded = self.value(target);
        self.open.pop();
        self.branching = self.branching.max(expanded.returns);
        self.done.insert(reference, expanded);
        expanded
    }
}
