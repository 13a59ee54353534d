//! A schema that is compiled at the first check.

use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use super::{BACKTRACK_LIMIT, SchemaError, patterns, plain};

/// How many bytes a pattern's matcher may use to be fast.
const MATCHER_CACHE: usize = 256 << 10;

/// A schema that compiles: it looks like it (`plain.rs`), or was tried.
pub(super) struct CompiledSchema {
    schema: Value,
    /// `None` if it does not compile after all: `plain.rs` is wrong then, and nothing matches.
    validator: OnceLock<Option<Box<Validator>>>,
}

impl CompiledSchema {
    /// Checks that the schema compiles.
    ///
    /// # Errors
    /// The schema does not compile.
    pub(super) fn new(schema: Value) -> Result<Self, SchemaError> {
        // The compiled schema is dropped: most tools that servers list are never called.
        if !plain::is_plain(&schema) {
            compile(&schema)?;
        }
        Ok(Self { schema, validator: OnceLock::new() })
    }

    /// Returns whether it was compiled already.
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

/// Compiles a schema that means the same in every draft, as draft 7. That takes a tenth of the time, because the
/// draft's meta-schema, which is compiled first, is smaller.
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

/// Returns what is wrong with a schema, and where.
fn explain(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{error} (at {place})"),
    }
}
