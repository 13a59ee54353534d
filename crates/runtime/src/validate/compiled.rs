//! A schema that is compiled when the first arguments come.

use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use super::{BACKTRACK_LIMIT, SchemaError, patterns, plain};

/// How many bytes a pattern's matcher may use to be fast.
const MATCHER_CACHE: usize = 256 << 10;

/// A schema that compiles: it looks so, or was tried.
pub(super) struct Compiled {
    schema: Value,
    /// None if it does not compile after all: `plain.rs` is wrong then, and nothing fits.
    validator: OnceLock<Option<Box<Validator>>>,
}

impl Compiled {
    /// Takes a schema that compiles.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn new(schema: Value) -> Result<Self, SchemaError> {
        // What was compiled to find out is dropped: most tools that servers list are never called.
        if !plain::is_plain(&schema) {
            compile(&schema)?;
        }
        Ok(Self { schema, validator: OnceLock::new() })
    }

    /// Whether it was compiled already.
    pub(super) fn is_ready(&self) -> bool {
        self.validator.get().is_some()
    }

    pub(super) fn validator(&self) -> Option<&Validator> {
        let compile = || match plain::is_plain(&self.schema) && plain::drafts_agree(&self.schema) {
            true => compile_plain(&self.schema),
            false => compile(&self.schema),
        };
        self.validator.get_or_init(|| compile().ok().map(Box::new)).as_deref()
    }
}

pub(super) fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    build(&options(), schema)
}

/// Compiles a schema that means the same in every draft. As one of draft 7 that takes a tenth of the time: the schema of
/// schemas, which is compiled first, is a small one there.
pub(super) fn compile_plain(schema: &Value) -> Result<Validator, SchemaError> {
    build(&options().with_draft(Draft::Draft7).should_validate_formats(false), schema)
}

fn options() -> ValidationOptions<'static> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(patterns::LARGEST)
        .dfa_size_limit(MATCHER_CACHE);
    jsonschema::options().offline().with_pattern_options(patterns)
}

fn build(options: &ValidationOptions<'_>, schema: &Value) -> Result<Validator, SchemaError> {
    options.build(schema).map_err(|error| SchemaError::Invalid(explain(&error)))
}

/// What is wrong with a schema, and where in it.
fn explain(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{error} (at {place})"),
    }
}
