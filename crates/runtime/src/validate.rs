//! Arguments against the schema (SPEC VA).

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
pub(crate) use budget::{Budget, Weight};
use compiled::Compiled;
use cost::{Cost, Effort};
use document::Document;
use messages::Problems;
pub(crate) use messages::required;
pub use messages::{Problem, type_name};
pub(crate) use offload::CheckSlots;
use patterns::Automaton;

/// How often a pattern may turn back before it counts as hostile; honest ones stay far below.
const BACKTRACK_LIMIT: usize = 10_000;

/// A schema that arguments are checked against, compiled when the first ones come.
pub struct Check {
    /// None if the server judges for itself.
    schema: Option<Compiled>,
    strictness: Strictness,
    weight: Weight,
    cost: Cost,
    /// Whether the schema is of the one draft that takes `3.0` for no integer.
    draft_4: bool,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Parameters are an object, and so is their schema.
    #[error("the schema must be an object of type `object`, not {0}")]
    NotAnObject(String),
    /// Checking against it would take forever.
    #[error("its references expand to more than {} subschemas", cost::MOST_SUBSCHEMAS)]
    TooCostly,
    /// Checking against it would need too much stack.
    #[error("its subschemas and references are nested more than {} deep", cost::MOST_NESTED)]
    TooNested,
    /// It is too large by itself.
    #[error("it has more than {most} {what}")]
    TooLarge {
        /// How many it may have.
        most: u64,
        /// Of what.
        what: &'static str,
    },
    /// It is too large beside those of the same server's other tools.
    #[error("the schemas of its server's tools have more than {most} {what} in all")]
    ServerTooLarge {
        /// How many they may have.
        most: u64,
        /// Of what.
        what: &'static str,
    },
    /// It does not compile.
    #[error("{0}")]
    Invalid(String),
}

/// Returns whether a value fits a schema.
pub type Checker = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// Returns a function that says whether a value fits `schema`, which must be of type `object`.
///
/// # Errors
/// As those of [`Check::compile`].
pub fn checker(schema: &Value) -> Result<Checker, SchemaError> {
    let check = Check::compile(schema, Strictness::Strict)?;
    Ok(Box::new(move |value| check.accepts(value)))
}

impl Check {
    /// Takes the schema of a tool's parameters.
    ///
    /// # Errors
    /// The schema is not one, refers to what is not in it, or is too costly.
    pub fn compile(schema: &Value, strictness: Strictness) -> Result<Self, SchemaError> {
        Self::within(&mut Budget::default(), schema, strictness)
    }

    /// As [`compile`](Self::compile), for one of several schemas that share a budget.
    pub(crate) fn within(
        budget: &mut Budget,
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
        let compiled = Compiled::new(match strictness {
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

    /// Takes from the budget what this schema takes, and says whether that was possible.
    pub(crate) fn fits(&self, budget: &mut Budget) -> bool {
        budget.take(&self.weight).is_ok()
    }

    /// How strictly it judges.
    pub(crate) fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Whether the arguments fit.
    pub fn accepts(&self, args: &Value) -> bool {
        !matches!(self.effort(args), Effort::TooLarge(_)) && self.is_valid(args)
    }

    /// Whether the arguments fit, or may fit: what takes long is left to the call.
    pub fn may_accept(&self, args: &Value) -> bool {
        match self.effort(args) {
            Effort::Small => self.is_valid(args),
            Effort::Large => true,
            Effort::TooLarge(_) => false,
        }
    }

    fn is_valid(&self, args: &Value) -> bool {
        self.schema.as_ref().is_none_or(|schema| {
            let fits = |args| schema.validator().is_some_and(|schema| schema.is_valid(args));
            fits(args) || self.draft_4 && fits(&whole_numbers(args))
        })
    }

    fn effort(&self, args: &Value) -> Effort {
        match &self.schema {
            Some(schema) => self.cost.effort(args, schema.is_ready()),
            None => Effort::Small,
        }
    }
}

/// Measures a schema, and takes from the budget what it needs.
fn measure(budget: &mut Budget, schema: &Value) -> Result<(Weight, Cost), SchemaError> {
    let document = Document::new(schema);
    let mut weight = Weight {
        subschemas: document.objects,
        bytes: document.bytes,
        patterns: document.patterns.len() as u64,
        automata: 0,
    };
    // Before anything is done whose time grows with these.
    budget.take(&weight)?;
    let patterns = document.patterns.iter();
    let automata: HashMap<_, _> =
        patterns.map(|pattern| (*pattern, Automaton::of(pattern))).collect();
    let sum = automata.values().fold(0_u64, |sum, automaton| sum.saturating_add(automaton.bytes));
    budget.take(&Weight { automata: sum, ..Weight::default() })?;
    weight.automata = sum;
    Ok((weight, Cost::of(schema, &document, &automata)?))
}

fn is_draft_4(dialect: &str) -> bool {
    dialect.contains("json-schema.org/draft-04/")
}

/// What the schema says of arguments that a call brings.
pub(crate) enum Judgement {
    /// The arguments as the tool would get them, and what is wrong with them.
    Now(Value, Option<Invalid>),
    /// The same, which takes long: beside the serving threads, once somebody waits for it.
    Later(BoxFuture<'static, Result<(Value, Option<Invalid>), ToolError>>),
}

/// All that happens to arguments before policy, for calls and for who only wants to know: renamed as the tool's server
/// expects, then judged by the schema.
pub(crate) fn judge(tool: &Arc<RegisteredTool>, args: Map<String, Value>) -> Judgement {
    let mut args = rename::for_server(tool.spec(), args);
    fixed::take_out(tool.spec(), &mut args);
    let args = Value::Object(args);
    match tool.check.effort(&args) {
        Effort::Large => Judgement::Later(Box::pin(offload::judge_beside(tool.clone(), args))),
        effort => {
            let invalid = invalid(tool, &args, effort);
            Judgement::Now(args, invalid)
        }
    }
}

/// Returns the arguments that the tool gets if they fit its schema, with those that the config fixes.
///
/// # Errors
/// `invalid_parameters` with all problems at once, and the required parameters as the way out; `timeout` or `cancelled`
/// if the call ends before a long check does.
pub(crate) async fn args(
    tool: &Arc<RegisteredTool>,
    args: Map<String, Value>,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<Value, ToolError> {
    let (mut args, invalid) = match judge(tool, args) {
        Judgement::Now(args, invalid) => (args, invalid),
        Judgement::Later(judged) => Box::pin(dispatch::within(judged, cx, record)).await?,
    };
    if let Some(Invalid { error, .. }) = invalid {
        return Err(error);
    }
    if let Value::Object(args) = &mut args {
        fixed::put(tool.spec(), args);
    }
    Ok(args)
}

/// Says what is wrong with the arguments; `None` if they fit.
pub(crate) fn problems(check: &Check, args: &Value) -> Option<String> {
    if check.accepts(args) {
        return None;
    }
    let validator = check.schema.as_ref().and_then(Compiled::validator);
    let problems = validator.map(|validator| Problems::of(validator.iter_errors(args)).text());
    Some(problems.unwrap_or_else(|| "the schema does not compile".to_owned()))
}

/// Arguments that do not fit.
#[derive(Debug)]
pub struct Invalid {
    /// What is wrong, one by one.
    pub problems: Vec<Problem>,
    /// What a call with these arguments is told.
    pub error: ToolError,
}

/// Returns what is wrong with the arguments, `None` if they fit.
fn invalid(tool: &RegisteredTool, args: &Value, effort: Effort) -> Option<Invalid> {
    let check = &tool.check;
    let problems = match effort {
        Effort::TooLarge(reason) => Problems::whole(reason),
        _ if check.is_valid(args) => return None,
        _ => match check.schema.as_ref().and_then(Compiled::validator) {
            Some(validator) => {
                let whole = check.draft_4.then(|| whole_numbers(args));
                Problems::of(validator.iter_errors(whole.as_ref().unwrap_or(args)))
            }
            None => Problems::whole("the tool's schema does not compile"),
        },
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
