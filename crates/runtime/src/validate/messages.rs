//! Error messages about arguments (SPEC VA-2, §12).

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::{Location, LocationSegment},
};
use serde_json::{Number, Value};

/// How many problems of one call are reported; a hostile call has more.
const MOST_PROBLEMS: usize = 20;

/// One problem with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// Where: a JSON pointer into the arguments, also for what is missing.
    pub path: String,
    /// What is wrong, as in the call's error.
    pub message: String,
}

/// All problems of one call: missing parameters first, then the others in order.
#[derive(Default)]
pub(super) struct ArgumentProblems {
    /// Locations and names.
    missing: Vec<ArgumentProblem>,
    others: Vec<ArgumentProblem>,
}

impl ArgumentProblems {
    pub(super) fn of<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let mut problems = Self::default();
        for error in errors.take(10 * MOST_PROBLEMS) {
            let (list, found) = match error.kind() {
                Kind::Required { property } => {
                    let (at, name) = (error.instance_path(), property.as_str().unwrap_or(""));
                    let message = format!("'{}'", below(at, name));
                    (
                        &mut problems.missing,
                        ArgumentProblem { path: at.join(name).to_string(), message },
                    )
                }
                _ => {
                    let path = error.instance_path().to_string();
                    (&mut problems.others, ArgumentProblem { path, message: problem(&error) })
                }
            };
            if !list.iter().any(|known| known.message == found.message) {
                list.push(found);
            }
        }
        problems
    }

    /// Reports a problem of the arguments as a whole.
    pub(super) fn whole(message: &str) -> Self {
        let problem = ArgumentProblem { path: String::new(), message: message.to_owned() };
        Self { missing: Vec::new(), others: vec![problem] }
    }

    /// Returns all problems in one text, limited in length.
    pub(super) fn text(&self) -> String {
        let mut texts: Vec<String> = Vec::new();
        if !self.missing.is_empty() {
            let names: Vec<_> = self.missing.iter().map(|missing| &*missing.message).collect();
            texts.push(format!("missing {}", names.join(", ")));
        }
        texts.extend(self.others.iter().map(|problem| problem.message.clone()));
        let more = texts.len().saturating_sub(MOST_PROBLEMS);
        texts.truncate(MOST_PROBLEMS);
        if more > 0 {
            texts.push(format!("and {more} more problems"));
        }
        texts.join("; ")
    }

    /// Returns the problems one by one.
    pub(super) fn list(self) -> Vec<ArgumentProblem> {
        let missing = self.missing.into_iter().map(|ArgumentProblem { path, message }| {
            ArgumentProblem { path, message: format!("missing {message}") }
        });
        missing.chain(self.others).take(MOST_PROBLEMS).collect()
    }
}

/// Describes one problem: the parameter, and what to do.
fn problem(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path());
    let got = error.instance();
    let what = match error.kind() {
        Kind::Type { kind } => format!("must be {}, got {}", types(kind), type_name(got)),
        Kind::Enum { options } => format!("must be one of: {}", choices(options)),
        Kind::Constant { expected_value } => format!("must be one of: {}", choice(expected_value)),
        Kind::Required { property } => {
            let name = below(error.instance_path(), property.as_str().unwrap_or(""));
            return format!("missing '{name}'");
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names =
                unexpected.iter().map(|name| format!("'{}'", below(error.instance_path(), name)));
            return format!("unknown {}", names.collect::<Vec<_>>().join(", "));
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return alternatives(&place, error.instance_path(), got, context);
        }
        Kind::OneOfMultipleValid { .. } => "fits more than one of its allowed forms".to_owned(),
        Kind::Minimum { limit } => format!("must be at least {limit}, got {}", short(got)),
        Kind::Maximum { limit } => format!("must be at most {limit}, got {}", short(got)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}, got {}", short(got))
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}, got {}", short(got))
        }
        Kind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, got {}", short(got))
        }
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} properties"),
        Kind::UniqueItems => "must not have equal items".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "could not be checked: its pattern costs too much on this value".to_owned()
        }
        Kind::Format { format } => format!("must be a valid {format}, got {}", short(got)),
        // An object that must not have any properties is reported as a whole.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            "must have no properties".to_owned()
        }
        Kind::FalseSchema => "is not allowed".to_owned(),
        // The validator's own message for the remaining cases; it would repeat a long value.
        _ => format!("is not valid: {}", error.masked()),
    };
    format!("{place} {what}")
}

/// Describes what to do if none of several alternatives matches.
fn alternatives(
    place: &str,
    path: &Location,
    got: &Value,
    context: &[Vec<ValidationError<'static>>],
) -> String {
    // The alternatives of the right type say more than the others.
    let right_kind: Vec<_> = context
        .iter()
        .filter(|errors| !errors.iter().any(|error| is_type_error_at(error, path)))
        .collect();
    match &right_kind[..] {
        [] => {
            let mut names: Vec<String> = Vec::new();
            for error in context.iter().flatten() {
                if let Kind::Type { kind } = error.kind() {
                    let name = types(kind);
                    if error.instance_path() == path && !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            format!("{place} must be {}, got {}", names.join(" or "), type_name(got))
        }
        [errors] => list(errors, "; "),
        several => {
            let forms: Vec<_> = several.iter().map(|errors| list(errors, " and ")).collect();
            format!("{place} fits none of its allowed forms: {}", forms.join(", or "))
        }
    }
}

fn is_type_error_at(error: &ValidationError<'_>, path: &Location) -> bool {
    matches!(error.kind(), Kind::Type { .. }) && error.instance_path() == path
}

fn list(errors: &[ValidationError<'_>], between: &str) -> String {
    let problems: Vec<_> = errors.iter().take(MOST_PROBLEMS).map(problem).collect();
    problems.join(between)
}

/// Lists the required parameters, as a hint for the model: `a (string), b (integer)`.
pub(crate) fn required(schema: &Value) -> Option<String> {
    let names = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
    let typed = names.map(|name| {
        let kind = schema["properties"].get(name).and_then(|property| property.get("type"));
        match kind {
            Some(Value::String(kind)) => format!("{name} ({kind})"),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<_> = kinds.iter().filter_map(Value::as_str).collect();
                format!("{name} ({})", kinds.join(" or "))
            }
            _ => format!("{name} (any)"),
        }
    });
    let list = typed.collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| format!("Required parameters: {list}"))
}

/// Formats a parameter's location: `'options.unit'`, `'tags[1]'`.
fn place(path: &Location) -> String {
    match path.is_empty() {
        true => "arguments".to_owned(),
        false => format!("'{}'", dotted(path)),
    }
}

fn below(path: &Location, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{}.{name}", dotted(path)),
    }
}

fn dotted(path: &Location) -> String {
    let mut dotted = String::new();
    for segment in path.segments() {
        match segment {
            LocationSegment::Property(name) => {
                if !dotted.is_empty() {
                    dotted.push('.');
                }
                dotted.push_str(&name);
            }
            LocationSegment::Index(index) => dotted.push_str(&format!("[{index}]")),
        }
    }
    dotted
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            let names: Vec<_> = kinds.iter().map(|kind| kind.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn choices(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().map(choice).collect::<Vec<_>>().join(", ")
}

fn choice(option: &Value) -> String {
    match option {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats a value, if it is short.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() <= 60 => format!("\"{text}\""),
        Value::Number(number) if number.to_string().len() <= 60 => number.to_string(),
        other => type_name(other).to_owned(),
    }
}

/// Returns the JSON Schema name of a value's type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_integer(number: &Number) -> bool {
    let digits = number.to_string();
    !digits.contains(['.', 'e', 'E']) || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}
