//! Arguments against the schema (SPEC VA).

mod cost;
mod lenient;
mod messages;

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use switchboard_toolcall::{Strictness, ToolError};

use crate::tools::RegisteredTool;
pub use messages::type_name;

/// How often a pattern may turn back before it counts as hostile; honest ones stay far below.
const BACKTRACK_LIMIT: usize = 10_000;

/// How many bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

/// A schema, compiled once.
pub struct Check {
    /// None where the server judges for itself.
    validator: Option<Validator>,
    /// How many times one level of the arguments may multiply the work, where the schema is recursive.
    branching: u64,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Parameters are an object, and so is their schema.
    #[error("the schema must be an object of type `object`, not {0}")]
    NotAnObject(String),
    /// Checking against it would take forever.
    #[error("its references expand to more than {} subschemas", cost::MOST_SUBSCHEMAS)]
    TooCostly,
    /// It does not compile.
    #[error("{0}")]
    Invalid(String),
}

impl Check {
    /// Compiles the schema of a tool's parameters.
    ///
    /// # Errors
    /// The schema is not one, refers to what is not in it, or is too costly.
    pub fn compile(schema: &Value, strictness: Strictness) -> Result<Self, SchemaError> {
        let object = schema.as_object();
        let object =
            object.ok_or_else(|| SchemaError::NotAnObject(type_name(schema).to_owned()))?;
        match object.get("type") {
            None => {}
            Some(Value::String(name)) if name == "object" => {}
            Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {}
            Some(other) => return Err(SchemaError::NotAnObject(other.to_string())),
        }
        let branching = cost::branching(schema)?;
        let schema = match strictness {
            Strictness::Strict => std::borrow::Cow::Borrowed(schema),
            _ => lenient::top_level(schema),
        };
        let patterns =
            PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_SIZE);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(&schema)
            .map_err(|error| SchemaError::Invalid(explain(&error)))?;
        Ok(Self { validator: (strictness != Strictness::Off).then_some(validator), branching })
    }
}

/// What is wrong with a schema, and where in it.
fn explain(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{error} (at {place})"),
    }
}

/// Returns the arguments if they fit the tool's schema.
///
/// # Errors
/// `invalid_parameters` with all problems at once, and the required parameters as the way out.
pub(crate) fn args(
    tool: &Arc<RegisteredTool>,
    args: Map<String, Value>,
) -> Result<Value, ToolError> {
    let args = Value::Object(args);
    let Some(validator) = &tool.check.validator else {
        return Ok(args);
    };
    let problem = if cost::too_deep(&args, tool.check.branching) {
        "the arguments are nested too deeply for this tool's schema".to_owned()
    } else if validator.is_valid(&args) {
        return Ok(args);
    } else {
        messages::problems(validator.iter_errors(&args))
    };
    let error = ToolError::invalid(problem);
    Err(match messages::required(&tool.spec().parameters) {
        Some(required) => error.with_hint(required),
        None => error,
    })
}

#[cfg(test)]
mod tests;
