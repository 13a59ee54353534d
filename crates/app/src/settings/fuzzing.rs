//! Entry point of the fuzz targets; nothing else uses it.

use std::path::Path;

use super::{Effects, missing::LookupError, parse, problem::ConfigProblem, read};

pub use super::jsonc::plain;

/// Reads a config from its text as if it had been found in `file`, with no variable but `HOST` set.
///
/// # Errors
/// The text says what is wrong, and on which line.
///
/// # Panics
/// The config would do something that a person was not asked about.
pub fn config(text: &str, file: &Path) -> Result<(), String> {
    let variable = |name: &str| match name {
        "HOST" => Ok("example.org".to_owned()),
        _ => Err(LookupError::NotPresent),
    };
    let tell = |problem: ConfigProblem| problem.to_string();
    let parsed = parse(text, file).map_err(tell)?;
    let effects = Effects::of(&parsed).map_err(tell)?;
    let settings = read(parsed, file, &variable).map_err(tell)?.settings;
    let reaches_out = !settings.servers.is_empty() || !settings.models.is_empty();
    assert!(!(reaches_out && effects.is_empty()), "{text} has effects that are not listed");
    Ok(())
}
