//! How a tool looks in a profile: its name, its description, its arguments.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ProfileError;
use crate::{FixedArgument, ToolSpec};

/// How a tool looks in a profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolChange {
    /// The name that it has in the profile.
    pub name: Option<String>,
    /// The description that it has in the profile.
    pub description: Option<String>,
    /// How its arguments look, by name.
    pub arguments: BTreeMap<String, ArgumentChange>,
}

/// How an argument looks in a profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArgumentChange {
    /// The value that is always sent; callers do not see the argument.
    pub fixed: Option<Value>,
    /// Whether callers do not see the argument, and cannot send it.
    pub hidden: bool,
    /// The description that it has in the profile.
    pub description: Option<String>,
}

/// The keywords of a schema whose subschemas apply to the same object.
const IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

impl ToolChange {
    /// Returns whether the tool, which the config calls `tool`, has another name in the profile.
    pub fn renames(&self, tool: &str) -> bool {
        self.name.as_ref().is_some_and(|name| name != tool)
    }

    /// Checks the change of the tool that the config calls `tool`.
    pub(super) fn check(&self, tool: &str) -> Result<(), ProfileError> {
        if let Some(name) = &self.name {
            let problem = match name.as_str() {
                "" => Some("is empty"),
                name if name.len() > 256 => Some("is longer than 256 bytes"),
                name if name.chars().any(|c| c.is_whitespace() || c.is_control()) => {
                    Some("has white space or control characters in it")
                }
                _ => None,
            };
            if let Some(problem) = problem {
                return Err(ProfileError::Name(tool.to_owned(), name.clone(), problem));
            }
        }
        for (name, argument) in &self.arguments {
            let problem = match argument {
                ArgumentChange { fixed: Some(_), hidden: true, .. } => {
                    "it is either `fixed` or `hidden`"
                }
                ArgumentChange { fixed: Some(_), description: Some(_), .. }
                | ArgumentChange { hidden: true, description: Some(_), .. } => {
                    "callers do not see it, so its `description` is of no use"
                }
                _ => continue,
            };
            return Err(ProfileError::Argument(tool.to_owned(), name.clone(), problem));
        }
        Ok(())
    }

    /// Returns the tool's definition as the profile shows it.
    pub fn apply(&self, spec: &ToolSpec) -> ToolSpec {
        let mut spec = spec.clone();
        if let Some(name) = &self.name {
            spec.name.clone_from(name);
        }
        if let Some(description) = &self.description {
            spec.description.clone_from(description);
        }
        for (name, change) in &self.arguments {
            let declared = spec.parameters["properties"].get(name).cloned();
            if let Some(value) = &change.fixed {
                // What the definition itself fixes has no schema among the shown parameters any more.
                let known = spec.settings.fixed.get(name).map(|fixed| fixed.schema.clone());
                let schema = declared.or(known).unwrap_or(Value::Bool(true));
                let fixed = FixedArgument { value: value.clone(), schema };
                spec.settings.fixed.insert(name.clone(), fixed);
            } else if change.hidden {
                // A value that the definition fixes is still sent.
                spec.settings.hidden.insert(name.clone());
            } else if let Some(description) = &change.description {
                describe(&mut spec.parameters, name, description);
                continue;
            } else {
                continue;
            }
            remove(&mut spec.parameters, name);
        }
        spec
    }
}

/// Sets the description of a parameter that the schema declares.
fn describe(schema: &mut Value, name: &str, description: &str) {
    let declared = schema.get_mut("properties").and_then(|all| all.get_mut(name));
    match declared {
        Some(Value::Object(declared)) => {
            declared.insert("description".to_owned(), description.into());
        }
        Some(declared @ Value::Bool(true)) => {
            let described = [("description".to_owned(), description.into())];
            *declared = Value::Object(Map::from_iter(described));
        }
        _ => {}
    }
}

/// Removes a parameter from the schema, and from what it requires.
fn remove(schema: &mut Value, name: &str) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(name);
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|required| required != name);
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
    for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
        let Some(dependent) = schema.get_mut(keyword).and_then(Value::as_object_mut) else {
            continue;
        };
        dependent.shift_remove(name);
        for names in dependent.values_mut().filter_map(Value::as_array_mut) {
            names.retain(|required| required != name);
        }
    }
    for keyword in IN_PLACE {
        let subschemas = schema.get_mut(keyword).and_then(Value::as_array_mut);
        subschemas.into_iter().flatten().for_each(|subschema| remove(subschema, name));
    }
}
