//! What is wrong with the arguments, in words that help (SPEC VA-2, §12).

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::{Location, LocationSegment},
};
use serde_json::{Number, Value};

/// How many problems of one call are told; a hostile call has more.
const MOST_PROBLEMS: usize = 20;

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a JSON pointer into the arguments. What is missing has the place where it should be.
    pub path: String,
    /// What is wrong, in the words of the call's error.
    pub message: String,
}

/// All problems of one call: the missing parameters first, then the others in order.
#[derive(Default)]
pub(super) struct Problems {
    /// Places and names.
    missing: Vec<Problem>,
    others: Vec<Problem>,
}

impl Problems {
    pub(super) fn of<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let mut problems = Self::default();
        for error in errors.take(10 * MOST_PROBLEMS) {
            let (list, found) = match error.kind() {
                Kind::Required { property } => {
                    let (at, name) = (error.instance_path(), property.as_str().unwrap_or(""));
                    let message = format!("'{}'", below(at, name));
                    (&mut problems.missing, Problem { path: at.join(name).to_string(), message })
                }
                _ => {
                    let path = error.instance_path().to_string();
                    (&mut problems.others, Problem { path, message: problem(&error) })
                }
            };
            if !list.iter().any(|known| known.message == found.message) {
                list.push(found);
            }
        }
        problems
    }

    /// The arguments as a whole are the problem.
    pub(super) fn whole(message: &str) -> Self {
        let problem = Problem { path: String::new(), message: message.to_owned() };
        Self { missing: Vec::new(), others: vec![problem] }
    }

    /// All in one text, as long as it helps.
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

    /// One by one.
    pub(super) fn list(self) -> Vec<Problem> {
        let missing = self.missing.into_iter().map(|Problem { path, message }| Problem {
            path,
            message: format!("missing {message}"),
        });
        missing.chain(self.others).take(MOST_PROBLEMS).collect()
    }
}

/// One problem: the parameter and the way out.
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
        // An object that may have no properties at all is reported as a whole.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            "must have no properties".to_owned()
        }
        Kind::FalseSchema => "is not allowed".to_owned(),
        // The validator's own words for the rare rest; they would repeat a long value whole.
        _ => format!("is not valid: {}", error.masked()),
    };
    format!("{place} {what}")
}

/// What to do where none of several forms fits.
fn alternatives(
    place: &str,
    path: &Location,
    got: &Value,
    context: &[Vec<ValidationError<'static>>],
) -> String {
    // The forms that are at least of the right kind say more than the others.
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

/// The parameters that must be given, for the model to do better: `a (string), b (integer)`.
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

/// A parameter's place as people write it: `'options.unit'`, `'tags[1]'`.
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

/// A value, as long as it is short.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() <= 60 => format!("\"{text}\""),
        Value::Number(number) if number.to_string().len() <= 60 => number.to_string(),
        other => type_name(other).to_owned(),
    }
}

/// The JSON Schema name of a value's type.
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
