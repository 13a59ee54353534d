//! `ask --schema FILE`: what the answer has to fit (SPEC RN-4).

use std::{fs, path::Path};

use anyhow::Context;
use switchboard_agent::AnswerSchema;

/// Reads the schema of the answer.
///
/// # Errors
/// The file cannot be read, or has no JSON Schema that can be used.
pub(super) fn read(file: &Path) -> anyhow::Result<AnswerSchema> {
    let place = || format!("--schema {}", file.display());
    let text = fs::read_to_string(file).with_context(place)?;
    let schema = serde_json::from_str(&text).context("not JSON").with_context(place)?;
    AnswerSchema::new(schema).with_context(place)
}
