//! What matters most about a changed definition.

use serde_json::Value;

use crate::definition::{DefinitionKind, LockableDefinition};

/// Returns what a person should know first, each as a sentence without a full stop. Of a new definition nothing is dropped or
/// widened.
pub(crate) fn notes(before: Option<&LockableDefinition>, now: &LockableDefinition) -> Vec<String> {
    match (before, now.kind) {
        (Some(before), DefinitionKind::Tool) => of_tool(before, now),
        (Some(before), DefinitionKind::Prompt) => of_prompt(before, now),
        _ => Vec::new(),
    }
}

/// A prompt's arguments are texts that people or models fill in.
fn of_prompt(before: &LockableDefinition, now: &LockableDefinition) -> Vec<String> {
    let arguments = |definition: &LockableDefinition| -> Vec<(String, bool)> {
        let listed = definition.entry.get("arguments").and_then(Value::as_array);
        let argument = |one: &Value| {
            let is_required = one.get("required") == Some(&Value::Bool(true));
            Some((one.get("name")?.as_str()?.to_owned(), is_required))
        };
        listed.into_iter().flatten().filter_map(argument).collect()
    };
    let old = arguments(before);
    let note = |(name, is_required): (String, bool)| {
        let known = old.iter().find(|(known, _)| *known == name);
        match (known, is_required) {
            (None, true) => Some(format!("`{name}` is a new argument that has to be given")),
            (None, false) => Some(format!("`{name}` is a new argument")),
            (Some((_, false)), true) => Some(format!("`{name}` now has to be given")),
            _ => None,
        }
    };
    arguments(now).into_iter().filter_map(note).collect()
}

fn of_tool(before: &LockableDefinition, now: &LockableDefinition) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (schema(before), schema(now));
    parameters("", &[old], &[new], &mut notes);
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

/// Keywords whose lists have schemas of which some count for the value that the whole is about.
const ALTERNATIVES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// What a schema says of one part of a value.
struct Part<'a> {
    /// What people call it, below the place of the whole.
    name: String,
    /// Whether it is a parameter of its own: one that was not there before is new.
    is_parameter: bool,
    schemas: Vec<&'a Value>,
}

/// Returns the parts of a value, each with what these schemas and their alternatives say of it.
fn parts<'a>(schemas: &[&'a Value]) -> Vec<Part<'a>> {
    let mut found: Vec<Part<'a>> = Vec::new();
    let mut add = |name: String, is_parameter, schema| match found
        .iter_mut()
        .find(|part| part.name == name)
    {
        Some(part) => part.schemas.push(schema),
        None => found.push(Part { name, is_parameter, schemas: vec![schema] }),
    };
    for schema in alternatives(schemas) {
        for (keyword, prefix) in
            [("properties", ""), ("$defs", "$defs."), ("definitions", "definitions.")]
        {
            for (name, schema) in
                schema.get(keyword).and_then(Value::as_object).into_iter().flatten()
            {
                add(format!("{prefix}{name}"), true, schema);
            }
        }
        for (keyword, name) in [("items", "[]"), ("additionalProperties", "*"), ("contains", "[]")]
        {
            if let Some(schema) = schema.get(keyword).filter(|schema| schema.is_object()) {
                add(name.to_owned(), false, schema);
            }
        }
        for schema in schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten() {
            add("[]".to_owned(), false, schema);
        }
    }
    found
}

/// Returns the schemas, each with those of which it demands one or all, as deep as they go.
fn alternatives<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut all = schemas.to_vec();
    let mut next = 0;
    while let Some(schema) = all.get(next).copied() {
        let lists = ALTERNATIVES.iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        all.extend(lists.flatten());
        next += 1;
    }
    all
}

fn parameters(place: &str, old: &[&Value], new: &[&Value], notes: &mut Vec<String>) {
    let (before, now) = (parts(old), parts(new));
    for part in &now {
        let shown = match (place, part.name.as_str()) {
            ("", name) => name.to_owned(),
            (place, "[]") => format!("{place}[]"),
            (place, name) => format!("{place}.{name}"),
        };
        let is_free = part.schemas.iter().any(|schema| is_free_text(schema));
        match before.iter().find(|earlier| earlier.name == part.name) {
            None if !part.is_parameter => {}
            None if is_free => {
                notes.push(format!("`{shown}` is a new parameter that takes any text"));
            }
            None => notes.push(format!("`{shown}` is a new parameter")),
            Some(earlier) => {
                if is_free && !earlier.schemas.iter().any(|schema| is_free_text(schema)) {
                    notes.push(format!("`{shown}` now takes any text"));
                }
                parameters(&shown, &earlier.schemas, &part.schemas, notes);
            }
        }
    }
    let forbids = |schemas: &[&Value]| {
        let is_false =
            |schema: &&Value| schema.get("additionalProperties") == Some(&Value::Bool(false));
        schemas.iter().any(is_false)
    };
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
    let limits = ["enum", "const", "format", "pattern", "properties", "items", "$ref", "allOf"];
    if !is_text || limits.iter().any(|key| schema.get(key).is_some()) {
        return false;
    }
    let of = |key| schema.get(key).and_then(Value::as_array);
    match of("anyOf").or_else(|| of("oneOf")) {
        Some(one_of_these) => one_of_these.iter().any(is_free_text),
        None => true,
    }
}
