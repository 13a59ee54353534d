//! Validates arguments against the schema (SPEC VA).

mod budget;
mod compiled;
mod cost;
mod document;
mod lenient;
mod messages;
mod offload;
mod patterns;
mod plain;

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};
use switchboard_toolcall::{BoxFuture, CallContext, Strictness, ToolError, numbers::whole_numbers};

use crate::{dispatch, fixed, record::CallRecord, rename, tools::RegisteredTool};
pub(crate) use budget::{SchemaBudget, SchemaWeight};
use compiled::CompiledSchema;
use cost::{CheckEffort, SchemaCost};
use document::SchemaDocument;
use messages::ArgumentProblems;
pub(crate) use messages::required;
pub use messages::{ArgumentProblem, type_name};
pub(crate) use offload::CheckSlots;
use patterns::PatternCost;

/// How often a pattern may backtrack before it counts as hostile; ordinary ones stay far below.
const BACKTRACK_LIMIT: usize = 10_000;

/// A schema that arguments are checked against, compiled at the first check.
pub struct SchemaCheck {
    /// `None` if the server validates by itself.
    schema: Option<CompiledSchema>,
    strictness: Strictness,
    weight: SchemaWeight,
    cost: SchemaCost,
    /// Whether the schema is of draft 4, in which `3.0` is not an integer.
    draft_4: bool,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema's type is not `object`.
    #[error("the schema must be an object of type `object`, not {0}")]
    NotAnObject(String),
    /// Checking against it would take too long.
    #[error("its references expand to more than {} subschemas", cost::MOST_SUBSCHEMAS)]
    TooCostly,
    /// Checking against it would need too much stack.
    #[error("its subschemas and references are nested more than {} deep", cost::MOST_NESTED)]
    TooNested,
    /// The schema is too large.
    #[error("it has more than {most} {what}")]
    TooLarge {
        /// The limit.
        most: u64,
        /// The unit.
        what: &'static str,
    },
    /// The schema is too large in addition to those of the same server's other tools.
    #[error("the schemas of its server's tools have more than {most} {what} in all")]
    ServerTooLarge {
        /// The limit.
        most: u64,
        /// The unit.
        what: &'static str,
    },
    /// The schema does not compile.
    #[error("{0}")]
    Invalid(String),
}

/// Returns whether a value matches a schema.
pub type Checker = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// Returns a function that says whether a value matches `schema`, which must be of type `object`.
///
/// # Errors
/// As [`SchemaCheck::compile`].
pub fn checker(schema: &Value) -> Result<Checker, SchemaError> {
    let check = SchemaCheck::compile(schema, Strictness::Strict)?;
    Ok(Box::new(move |value| check.accepts(value)))
}

impl SchemaCheck {
    /// Prepares the schema of a tool's parameters.
    ///
    /// # Errors
    /// The schema is invalid, has a reference that leads outside of it, or is too expensive.
    pub fn compile(schema: &Value, strictness: Strictness) -> Result<Self, SchemaError> {
        Self::within(&mut SchemaBudget::default(), schema, strictness)
    }

    /// Like [`compile`](Self::compile), for one of several schemas that share a budget.
    pub(crate) fn within(
        budget: &mut SchemaBudget,
        schema: &Value,
        strictness: Strictness,
    ) -> Result<Self, SchemaError> {
        let object = schema.as_object();
        let object =
            object.ok_or_else(|| SchemaError::NotAnObject(type_name(schema).to_owned()))?;
        match object.get("type") {
            None => {}
            Some(Value::String(name)) if name == "object" => {}
            Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {}
            Some(other) => return Err(SchemaError::NotAnObject(other.to_string())),
        }
        let (weight, cost) = measure(budget, schema)?;
        let compiled = CompiledSchema::new(match strictness {
            Strictness::Strict => schema.clone(),
            _ => lenient::top_level(schema).into_owned(),
        })?;
        let dialect = object.get("$schema").and_then(Value::as_str);
        Ok(Self {
            schema: (strictness != Strictness::Off).then_some(compiled),
            strictness,
            weight,
            cost,
            draft_4: dialect.is_some_and(is_draft_4),
        })
    }

    /// Takes this schema's cost from the budget. Returns whether there was enough.
    pub(crate) fn fits(&self, budget: &mut SchemaBudget) -> bool {
        budget.take(&self.weight).is_ok()
    }

    /// Returns how strictly it checks.
    pub(crate) fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Returns whether the arguments are valid.
    pub fn accepts(&self, args: &Value) -> bool {
        !matches!(self.effort(args), CheckEffort::TooLarge(_)) && self.is_valid(args)
    }

    /// Returns everything that is wrong with the arguments, in one text; `None` if they are valid.
    pub fn problems(&self, args: &Value) -> Option<String> {
        if self.accepts(args) {
            return None;
        }
        let validator = self.schema.as_ref().and_then(CompiledSchema::validator);
        let problems =
            validator.map(|validator| ArgumentProblems::of(validator.iter_errors(args)).text());
        Some(problems.unwrap_or_else(|| "the schema does not compile".to_owned()))
    }

    /// Returns whether the arguments are valid or may be: checks that take long are left to the call.
    pub fn may_accept(&self, args: &Value) -> bool {
        match self.effort(args) {
            CheckEffort::Small => self.is_valid(args),
            CheckEffort::Large => true,
            CheckEffort::TooLarge(_) => false,
        }
    }

    fn is_valid(&self, args: &Value) -> bool {
        self.schema.as_ref().is_none_or(|schema| {
            let fits = |args| schema.validator().is_some_and(|schema| schema.is_valid(args));
            fits(args) || self.draft_4 && fits(&whole_numbers(args))
        })
    }

    fn effort(&self, args: &Value) -> CheckEffort {
        match &self.schema {
            Some(schema) => self.cost.effort(args, schema.is_ready()),
            None => CheckEffort::Small,
        }
    }
}

/// Measures a schema, and takes its cost from the budget.
fn measure(
    budget: &mut SchemaBudget,
    schema: &Value,
) -> Result<(SchemaWeight, SchemaCost), SchemaError> {
    let document = SchemaDocument::new(schema);
    let mut weight = SchemaWeight {
        subschemas: document.objects,
        bytes: document.bytes,
        patterns: document.patterns.len() as u64,
        automata: 0,
    };
    // Checked before anything whose time grows with these.
    budget.take(&weight)?;
    let patterns = document.patterns.iter();
    let automata: HashMap<_, _> =
        patterns.map(|pattern| (*pattern, PatternCost::of(pattern))).collect();
    let sum = automata.values().fold(0_u64, |sum, automaton| sum.saturating_add(automaton.bytes));
    budget.take(&SchemaWeight { automata: sum, ..SchemaWeight::default() })?;
    weight.automata = sum;
    Ok((weight, SchemaCost::of(schema, &document, &automata)?))
}

fn is_draft_4(dialect: &str) -> bool {
    dialect.contains("json-schema.org/draft-04/")
}

/// The outcome of checking arguments.
pub(crate) enum ArgumentCheck {
    /// The arguments as the tool would get them, and what is wrong with them.
    Now(Value, Option<InvalidArguments>),
    /// The same, to be awaited because it takes long: runs besides the serving threads.
    Later(BoxFuture<'static, Result<(Value, Option<InvalidArguments>), ToolError>>),
}

/// Prepares arguments for calls and for `/validate`: renames them as the tool's server expects, then checks them
/// against the schema.
pub(crate) fn judge(tool: &Arc<RegisteredTool>, mut args: Map<String, Value>) -> ArgumentCheck {
    fixed::strip(tool, &mut args);
    let args = Value::Object(rename::for_server(tool.spec(), args));
    match tool.check.effort(&args) {
        CheckEffort::Large => {
            ArgumentCheck::Later(Box::pin(offload::judge_beside(tool.clone(), args)))
        }
        effort => {
            let invalid = invalid(tool, &args, effort);
            ArgumentCheck::Now(args, invalid)
        }
    }
}

/// Returns the arguments that the tool gets, including those that the config fixes, if they are valid.
///
/// # Errors
/// `invalid_parameters` with all problems at once, and the required parameters as a hint; `timeout` or `cancelled` if
/// the call ends before a long check does.
pub(crate) async fn args(
    tool: &Arc<RegisteredTool>,
    args: Map<String, Value>,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<Value, ToolError> {
    let (mut args, invalid) = match judge(tool, args) {
        ArgumentCheck::Now(args, invalid) => (args, invalid),
        ArgumentCheck::Later(judged) => Box::pin(dispatch::within(judged, cx, record)).await?,
    };
    if let Some(InvalidArguments { error, .. }) = invalid {
        return Err(error);
    }
    if let Value::Object(args) = &mut args {
        fixed::put(tool.spec(), args);
    }
    Ok(args)
}

/// Arguments that do not match the schema.
#[derive(Debug)]
pub struct InvalidArguments {
    /// The problems, one by one.
    pub problems: Vec<ArgumentProblem>,
    /// The error of a call with these arguments.
    pub error: ToolError,
}

/// Returns what is wrong with the arguments. `None` if they are valid.
fn invalid(tool: &RegisteredTool, args: &Value, effort: CheckEffort) -> Option<InvalidArguments> {
    let check = &tool.check;
    let problems = match effort {
        CheckEffort::TooLarge(reason) => ArgumentProblems::whole(reason),
        _ if check.is_valid(args) => return None,
        _ => match check.schema.as_ref().and_then(CompiledSchema::validator) {
            Some(validator) => {
                let whole = check.draft_4.then(|| whole_numbers(args));
                ArgumentProblems::of(validator.iter_errors(whole.as_ref().unwrap_or(args)))
            }
            None => ArgumentProblems::whole("the tool's schema does not compile"),
        },
    };
    let error = ToolError::invalid(problems.text());
    let error = match required(&tool.spec().parameters) {
        Some(required) => error.with_hint(required),
        None => error,
    };
    Some(InvalidArguments { problems: problems.list(), error })
}

#[cfg(test)]
mod tests;
