//! Finds the values that a schema marks as secret.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// How many subschemas are visited; secrets behind the remaining ones are shown.
const MOST: usize = 10_000;
/// How deep schemas and values may be nested, references included.
const DEEPEST: usize = 64;

/// A search through a schema, along a value.
pub(super) struct SecretSearch<'a> {
    root: &'a Value,
    left: usize,
}

type Paths = HashSet<String>;

impl<'a> SecretSearch<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, left: MOST }
    }

    /// Returns JSON pointers to the parts of `value` that the schema marks as secret.
    pub(super) fn secrets(mut self, value: &Value) -> Paths {
        self.marked(self.root, value, "", 0)
    }

    fn marked(&mut self, schema: &Value, value: &Value, path: &str, depth: usize) -> Paths {
        let mut paths = Paths::new();
        let Value::Object(schema) = schema else { return paths };
        if self.left == 0 || depth > DEEPEST {
            return paths;
        }
        self.left -= 1;
        if schema.get("format").is_some_and(|format| format == "password")
            || schema.get("writeOnly") == Some(&Value::Bool(true))
        {
            paths.insert(path.to_owned());
            return paths;
        }
        if let Some(target) = self.target(schema) {
            paths.extend(self.marked(target, value, path, depth + 1));
        }
        for part in list(schema, "allOf") {
            paths.extend(self.marked(part, value, path, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            paths.extend(self.marked_by_all(list(schema, key), value, path, depth + 1));
        }
        match value {
            Value::Object(fields) => paths.extend(self.fields(schema, fields, path, depth + 1)),
            Value::Array(items) => paths.extend(self.items(schema, items, path, depth + 1)),
            _ => {}
        }
        paths
    }

    /// Returns what every branch that the value may match marks as secret. A caller that can choose the branch must not
    /// be able to hide what another branch would show.
    fn marked_by_all(
        &mut self,
        branches: &[Value],
        value: &Value,
        path: &str,
        depth: usize,
    ) -> Paths {
        let mut all: Option<Paths> = None;
        for branch in branches {
            if !self.fits(branch, value, depth) {
                continue;
            }
            let marked = self.marked(branch, value, path, depth);
            all = Some(match all {
                None => marked,
                Some(earlier) => earlier.intersection(&marked).cloned().collect(),
            });
        }
        all.unwrap_or_default()
    }

    fn fields(
        &mut self,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Paths {
        let mut paths = Paths::new();
        let declared = schema.get("properties").and_then(Value::as_object);
        // Keys are not matched against patterns here, so which keys are additional is not known either.
        let others = match schema.contains_key("patternProperties") {
            true => None,
            false => schema.get("additionalProperties"),
        };
        for (key, value) in fields {
            let own = declared.and_then(|declared| declared.get(key));
            if let Some(schema) = own.or(others) {
                paths.extend(self.marked(schema, value, &below(path, key), depth));
            }
        }
        paths
    }

    fn items(
        &mut self,
        schema: &Map<String, Value>,
        items: &[Value],
        path: &str,
        depth: usize,
    ) -> Paths {
        let mut paths = Paths::new();
        // Before draft 2020-12, `items` could be a list, and `additionalItems` applied to the rest.
        let (first, rest) = match schema.get("items") {
            Some(Value::Array(first)) => (first.as_slice(), schema.get("additionalItems")),
            rest => (list(schema, "prefixItems"), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or(rest) {
                let place = below(path, &index.to_string());
                paths.extend(self.marked(schema, item, &place, depth));
            }
        }
        paths
    }

    /// Returns the subschema that `$ref` points to, if it is within the same schema.
    fn target(&self, schema: &Map<String, Value>) -> Option<&'a Value> {
        let reference = schema.get("$ref")?.as_str()?;
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// Returns whether the value may match the branch: none of the keywords that are checked here excludes it.
    fn fits(&mut self, branch: &Value, value: &Value, depth: usize) -> bool {
        let Value::Object(schema) = branch else { return *branch != Value::Bool(false) };
        if self.left == 0 || depth > DEEPEST {
            return true;
        }
        self.left -= 1;
        if let Some(target) = self.target(schema)
            && !self.fits(target, value, depth + 1)
        {
            return false;
        }
        if schema.get("const").is_some_and(|only| only != value)
            || schema.get("enum").and_then(Value::as_array).is_some_and(|all| !all.contains(value))
            || schema.get("type").is_some_and(|kind| !is_of_type(kind, value))
        {
            return false;
        }
        let Value::Object(fields) = value else { return true };
        let has = |key: &Value| key.as_str().is_none_or(|key| fields.contains_key(key));
        let declared = schema.get("properties").and_then(Value::as_object);
        list(schema, "required").iter().all(has)
            && declared.into_iter().flatten().all(|(key, schema)| {
                fields.get(key).is_none_or(|value| self.fits(schema, value, depth + 1))
            })
    }
}

/// Returns the JSON pointer to `key` below `path`.
pub(super) fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn list<'a>(schema: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_of_type(kind: &Value, value: &Value) -> bool {
    let is = |kind: &str| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number" || kind == "integer",
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    };
    match kind {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
