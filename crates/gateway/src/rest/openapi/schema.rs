//! Converts a tool's JSON Schema to a component of an OpenAPI 3.1 document, which uses draft 2020-12.
//!
//! References start at the document there, so definitions become components of their own and references are rewritten.
//! Keywords of older drafts are converted.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Keywords that name a schema or its dialect, or mean something else in OpenAPI.
const DROPPED: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
    "discriminator",
    "xml",
    "externalDocs",
];

/// Adds a schema and its definitions to the components, under `key` and names that begin with it.
pub(super) fn place(schema: &Value, key: &str, components: &mut Map<String, Value>) {
    let mut definitions = HashMap::new();
    let mut found = Vec::new();
    for keyword in ["$defs", "definitions"] {
        for (name, schema) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            let component = free_name(&format!("{key}.{}", plain(name)), &found);
            definitions.insert((keyword, name.as_str()), component.clone());
            found.push((component, schema));
        }
    }
    let lowering = SchemaLowering { key, definitions };
    let mut root = lowering.schema(schema);
    match &mut root {
        Value::Object(root) => {
            root.shift_remove("$defs");
            root.shift_remove("definitions");
        }
        // A schema may be `true`; arguments are always an object.
        root => *root = serde_json::json!({"type": "object"}),
    }
    components.insert(key.to_owned(), root);
    for (component, schema) in found {
        components.insert(component, lowering.schema(schema));
    }
}

/// Replaces characters that names of components may not have.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn free_name(wanted: &str, taken: &[(String, &Value)]) -> String {
    let more = (2..).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(more);
    let is_free = |name: &String| taken.iter().all(|(other, _)| other != name);
    names.find(is_free).unwrap_or_else(|| wanted.to_owned())
}

struct SchemaLowering<'a> {
    key: &'a str,
    /// The component of each definition.
    definitions: HashMap<(&'static str, &'a str), String>,
}

impl SchemaLowering<'_> {
    fn schema(&self, schema: &Value) -> Value {
        let Value::Object(object) = schema else { return schema.clone() };
        let mut lowered = Map::new();
        for (keyword, value) in object {
            self.keyword(keyword, value, object, &mut lowered);
        }
        Value::Object(lowered)
    }

    fn keyword(
        &self,
        keyword: &str,
        value: &Value,
        beside: &Map<String, Value>,
        lowered: &mut Map<String, Value>,
    ) {
        match (keyword, value) {
            (name, Value::String(_) | Value::Bool(_) | Value::Object(_))
                if DROPPED.contains(&name) => {}
            ("$ref", Value::String(target)) => {
                if let Some(target) = self.moved(target) {
                    lowered.insert("$ref".to_owned(), target.into());
                }
            }
            ("enum" | "const" | "default" | "examples" | "dependentRequired", _) => {
                lowered.insert(keyword.to_owned(), value.clone());
            }
            ("example", _) => {
                lowered.insert("examples".to_owned(), vec![value.clone()].into());
            }
            (
                "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions",
                Value::Object(named),
            ) => {
                lowered.insert(keyword.to_owned(), self.named(named));
            }
            ("items", Value::Array(_)) => {
                lowered.insert("prefixItems".to_owned(), self.each(value));
                if let Some(rest) = beside.get("additionalItems") {
                    lowered.insert("items".to_owned(), self.schema(rest));
                }
            }
            ("additionalItems", _) => {}
            // In draft 4, a flag made a bound exclusive; now that is a separate keyword.
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {}
            ("minimum", bound) if beside.get("exclusiveMinimum") == Some(&Value::Bool(true)) => {
                lowered.insert("exclusiveMinimum".to_owned(), bound.clone());
            }
            ("maximum", bound) if beside.get("exclusiveMaximum") == Some(&Value::Bool(true)) => {
                lowered.insert("exclusiveMaximum".to_owned(), bound.clone());
            }
            ("dependencies", Value::Object(named)) => self.dependencies(named, lowered),
            ("required", Value::Bool(_)) => {}
            (_, Value::Array(_)) => {
                lowered.insert(keyword.to_owned(), self.each(value));
            }
            _ => {
                lowered.insert(keyword.to_owned(), self.schema(value));
            }
        }
    }

    fn named(&self, named: &Map<String, Value>) -> Value {
        named.iter().map(|(name, schema)| (name.clone(), self.schema(schema))).collect()
    }

    fn each(&self, schemas: &Value) -> Value {
        schemas.as_array().into_iter().flatten().map(|schema| self.schema(schema)).collect()
    }

    /// Splits `dependencies`: required properties, and schemas.
    fn dependencies(&self, named: &Map<String, Value>, lowered: &mut Map<String, Value>) {
        let (mut required, mut schemas) = (Map::new(), Map::new());
        for (name, dependency) in named {
            match dependency {
                Value::Array(_) => required.insert(name.clone(), dependency.clone()),
                _ => schemas.insert(name.clone(), self.schema(dependency)),
            };
        }
        for (keyword, found) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
            if !found.is_empty() {
                lowered.insert(keyword.to_owned(), Value::Object(found));
            }
        }
    }

    /// Returns where a reference points to in the document. Returns `None` for references to other documents or to anchors:
    /// those are never fetched, and accept anything.
    fn moved(&self, target: &str) -> Option<String> {
        let pointer = target.strip_prefix('#')?;
        let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
        if pointer.is_empty() {
            return Some(format!("#/components/schemas/{}", self.key));
        }
        let mut steps = pointer.strip_prefix('/')?.splitn(3, '/');
        let definition = match (steps.next(), steps.next()) {
            (Some("$defs"), Some(name)) => Some(("$defs", name)),
            (Some("definitions"), Some(name)) => Some(("definitions", name)),
            _ => None,
        };
        let Some((keyword, name)) = definition else {
            return Some(format!("#/components/schemas/{}{pointer}", self.key));
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        let component = self.definitions.get(&(keyword, name.as_str()))?;
        let rest = steps.next().map(|rest| format!("/{rest}")).unwrap_or_default();
        Some(format!("#/components/schemas/{component}{rest}"))
    }
}

#[cfg(test)]
mod tests;
