//! Arguments whose values the config fixes: `arguments.NAME = { fixed = … }` (SPEC TK-4).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_toolcall::FixedArgument;

use super::{DefinitionError, DefinitionProblem, ToolDefinition, reading::json_value};
use crate::template::Parameters;

/// What the config says of one argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentSettings {
    /// The value that is always sent; callers neither see nor choose the argument.
    #[serde(deserialize_with = "json_value")]
    pub fixed: Value,
}

impl ToolDefinition {
    /// Checks that what is fixed is a parameter; without any parameters everything is.
    pub(super) fn check_fixed(&self) -> Result<(), DefinitionError> {
        let declared = Parameters::of(&self.parameters);
        let unknown = self.arguments.keys().find(|name| !declared.has(name));
        match unknown.filter(|_| !declared.is_empty()) {
            Some(name) => {
                let way_out = declared.way_out(name, |name| format!("`{name}`"));
                let problem = format!(
                    "it is not a parameter; {way_out} What is fixed is declared in `parameters` too, but not shown"
                );
                Err(DefinitionProblem::new(format!("arguments.{name}"), problem).of(&self.name))
            }
            None => Ok(()),
        }
    }

    /// Returns the schema that callers see, and the arguments that are taken out of it.
    pub(super) fn split_fixed(&self) -> (Value, Vec<(String, FixedArgument)>) {
        let mut schema = self.parameters.clone();
        let fixed = self.arguments.iter().map(|(name, argument)| {
            let own = take_out(&mut schema, name).unwrap_or(Value::Bool(true));
            (name.clone(), FixedArgument { value: argument.fixed.clone(), schema: own })
        });
        let fixed = fixed.collect();
        (schema, fixed)
    }
}

/// Takes a parameter out of a schema, and returns what the schema said of it.
fn take_out(schema: &mut Value, name: &str) -> Option<Value> {
    let schema = schema.as_object_mut()?;
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let mut own = properties.and_then(|properties: &mut Map<_, _>| properties.shift_remove(name));
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|required| required != name);
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for part in schema.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            own = own.or(take_out(part, name));
        }
    }
    own
}
