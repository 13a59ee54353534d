//! Arguments against the schema (SPEC VA).

mod cost;
mod lenient;
mod messages;
mod plain;

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value};
use switchboard_toolcall::{Strictness, ToolError, numbers::whole_numbers};

use crate::tools::RegisteredTool;
use messages::Problems;
pub(crate) use messages::required;
pub use messages::{Problem, type_name};

/// How often a pattern may turn back before it counts as hostile; honest ones stay far below.
const BACKTRACK_LIMIT: usize = 10_000;

/// How many bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

/// A schema, compiled once.
pub struct Check {
    /// None where the server judges for itself.
    schema: Option<Compiled>,
    /// How many times one level of the arguments may multiply the work, where the schema is recursive.
    branching: u64,
    /// Whether the schema is of the one draft that takes `3.0` for no integer.
    draft_4: bool,
}

/// A schema that is compiled, or that is known to compile.
enum Compiled {
    Now(Box<Validator>),
    /// When the first arguments come.
    Later(Value, OnceLock<Option<Box<Validator>>>),
}

impl Compiled {
    fn new(schema: Cow<'_, Value>) -> Result<Self, SchemaError> {
        match plain::is_plain(&schema) {
            true => Ok(Self::Later(schema.into_owned(), OnceLock::new())),
            false => Ok(Self::Now(Box::new(compile(&schema)?))),
        }
    }

    /// None where a schema that looked good is not: `plain.rs` is wrong then, and nothing fits.
    fn validator(&self) -> Option<&Validator> {
        match self {
            Self::Now(validator) => Some(validator),
            Self::Later(schema, compiled) => {
                let compile = || match plain::drafts_agree(schema) {
                    true => compile_plain(schema),
                    false => compile(schema),
                };
                compiled.get_or_init(|| compile().ok().map(Box::new)).as_deref()
            }
        }
    }
}

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    build(&options(), schema)
}

/// Compiles a schema that means the same in every draft. As one of draft 7 that takes a tenth of the time: the schema of
/// schemas, which is compiled first, is a small one there.
fn compile_plain(schema: &Value) -> Result<Validator, SchemaError> {
    build(&options().with_draft(Draft::Draft7).should_validate_formats(false), schema)
}

fn options() -> ValidationOptions<'static> {
    let patterns =
        PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_SIZE);
    jsonschema::options().offline().with_pattern_options(patterns)
}

fn build(options: &ValidationOptions<'_>, schema: &Value) -> Result<Validator, SchemaError> {
    options.build(schema).map_err(|error| SchemaError::Invalid(explain(&error)))
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
        let compiled = Compiled::new(match strictness {
            Strictness::Strict => Cow::Borrowed(schema),
            _ => lenient::top_level(schema),
        })?;
        let dialect = object.get("$schema").and_then(Value::as_str);
        Ok(Self {
            schema: (strictness != Strictness::Off).then_some(compiled),
            branching,
            draft_4: dialect.is_some_and(is_draft_4),
        })
    }

    /// Whether the arguments fit.
    pub fn accepts(&self, args: &Value) -> bool {
        !cost::too_deep(args, self.branching)
            && self.schema.as_ref().is_none_or(|schema| {
                let fits = |args| schema.validator().is_some_and(|schema| schema.is_valid(args));
                fits(args) || self.draft_4 && fits(&whole_numbers(args))
            })
    }
}

fn is_draft_4(dialect: &str) -> bool {
    dialect.contains("json-schema.org/draft-04/")
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
    match judge(tool, &args) {
        None => Ok(args),
        Some(Invalid { error, .. }) => Err(error),
    }
}

/// Arguments that do not fit.
#[derive(Debug)]
pub struct Invalid {
    /// What is wrong, one by one.
    pub problems: Vec<Problem>,
    /// What a call with these arguments is told.
    pub error: ToolError,
}

/// What is wrong with the arguments; none where they fit.
pub(crate) fn judge(tool: &RegisteredTool, args: &Value) -> Option<Invalid> {
    if tool.check.accepts(args) {
        return None;
    }
    let problems = match tool.check.schema.as_ref().and_then(Compiled::validator) {
        Some(validator) if !cost::too_deep(args, tool.check.branching) => {
            let whole = tool.check.draft_4.then(|| whole_numbers(args));
            Problems::of(validator.iter_errors(whole.as_ref().unwrap_or(args)))
        }
        _ => Problems::whole("the arguments are nested too deeply for this tool's schema"),
    };
    let error = ToolError::invalid(problems.text());
    let error = match required(&tool.spec().parameters) {
        Some(required) => error.with_hint(required),
        None => error,
    };
    Some(Invalid { problems: problems.list(), error })
}

#[cfg(test)]
mod tests;
