//! Objects whose members can stand beside the other arguments.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    document::{ApiDocument, members},
    name,
};

/// How deep `allOf` may be nested.
const MAX_DEPTH: usize = 16;

/// The members of a body.
#[derive(Default)]
pub(super) struct ObjectMembers {
    pub(super) properties: Map<String, Value>,
    pub(super) required: HashSet<String>,
    /// Whether the object may have members that are not named.
    pub(super) allows_others: bool,
}

impl ObjectMembers {
    /// Returns the members of a schema, if it describes an object with some and has no alternatives.
    ///
    /// # Errors
    /// A reference leads nowhere.
    pub(super) fn of(document: &ApiDocument, schema: &Value) -> Result<Option<Self>, String> {
        let mut found = Self::default();
        let is_plain = found.add(document, schema, 0)?;
        // What only responses have is no argument.
        let is_shown = |schema: &Value| {
            let schema = document.resolve(schema).map_or(schema, |found| found.value);
            schema.get("readOnly") != Some(&Value::Bool(true))
        };
        found.properties.retain(|_, schema| is_shown(schema));
        Ok((is_plain && !found.properties.is_empty()).then_some(found))
    }

    /// Returns whether no other argument has the name of a member.
    pub(super) fn are_free(&self, taken: &HashSet<String>) -> bool {
        let mut own = HashSet::new();
        self.properties.keys().all(|member| {
            let argument = name::argument(member, "body", &HashSet::new());
            !taken.contains(&argument) && own.insert(argument)
        })
    }

    fn add(
        &mut self,
        document: &ApiDocument,
        schema: &Value,
        depth: usize,
    ) -> Result<bool, String> {
        let schema = document.resolve(schema)?.value;
        let is_object = match schema.get("type") {
            None => true,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            Some(kind) => kind == "object",
        };
        let has_more = ["if", "not", "patternProperties", "propertyNames", "discriminator"];
        if !is_object || depth > MAX_DEPTH || has_more.iter().any(|key| schema.get(*key).is_some())
        {
            return Ok(false);
        }
        for key in ["anyOf", "oneOf"] {
            // Which members belong together is left to the API.
            let only_requires =
                |choice: &Value| members(Some(choice)).all(|(key, _)| key == "required");
            let choices = schema.get(key).and_then(Value::as_array);
            if choices.is_some_and(|choices| !choices.iter().all(only_requires)) {
                return Ok(false);
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if !self.add(document, part, depth + 1)? {
                return Ok(false);
            }
        }
        for (name, property) in members(schema.get("properties")) {
            self.properties.insert(name.clone(), property.clone());
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        self.required.extend(required.filter_map(Value::as_str).map(str::to_owned));
        let others = schema.get("additionalProperties");
        self.allows_others |= others.is_some_and(|others| *others != Value::Bool(false));
        Ok(true)
    }
}

/// Returns whether the schema, or that of its items, is of bytes.
pub(super) fn is_binary(schema: &Value) -> bool {
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    let is_media = word("contentMediaType")
        .is_some_and(|kind| !kind.starts_with("text/") && !kind.contains("json"));
    let is_text = word("contentEncoding").is_some();
    word("format") == Some("binary")
        || word("type") == Some("file")
        || is_media && !is_text
        || schema.get("items").is_some_and(is_binary)
}
