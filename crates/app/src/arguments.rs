//! The arguments of `call`: a JSON object, stdin, a value, or `key=value` pairs typed by the tool's schema.

mod pairs;
pub(crate) mod schema;

use std::io::Read;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};

use crate::excerpt::{TextPosition, excerpt, reason};

const QUOTING: &str = "JSON has double quotes around names and strings; in a shell, put single quotes \
                       around the whole: '{\"name\":\"value\"}'";

/// Reads the words that follow the tool's name; `schema` is the tool's, or `None` if the tool does not exist.
///
/// # Errors
/// The words are not valid arguments; the text shows where they are wrong.
pub(crate) fn read(
    words: &[String],
    schema: Option<&Value>,
    stdin: &mut dyn Read,
) -> anyhow::Result<Map<String, Value>> {
    match words {
        [] => Ok(Map::new()),
        [word] if word == "-" => from_stdin(stdin),
        [word] if is_json(word) => object(word, "the arguments"),
        words => match words.iter().find(|word| word.as_str() == "-" || is_json(word)) {
            Some(word) => bail!("`{word}` cannot stand beside other arguments; {QUOTING}"),
            None => pairs::read(words, schema),
        },
    }
}

/// Whether only the tool's schema says what the words mean: they are a value or `key=value` pairs.
pub(crate) fn need_schema(words: &[String]) -> bool {
    !words.is_empty() && !words.iter().any(|word| word == "-" || is_json(word))
}

/// Whether a word is meant as JSON rather than as a value or a pair.
fn is_json(word: &str) -> bool {
    word.trim_start().starts_with(['{', '[', '"'])
}

fn from_stdin(stdin: &mut dyn Read) -> anyhow::Result<Map<String, Value>> {
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes).context("failed to read the arguments from stdin")?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        anyhow!("stdin is not UTF-8 text (byte {}); it must be a JSON object", valid + 1)
    })?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        bail!("stdin is empty; with `-` it must be a JSON object, such as {{}}");
    }
    object(text, "stdin")
}

fn object(text: &str, what: &str) -> anyhow::Result<Map<String, Value>> {
    match json(text, what) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(other) => {
            let kind = switchboard_runtime::validate::type_name(&other);
            bail!(
                "the arguments must be a JSON object, such as '{{\"name\":\"value\"}}', not {kind}"
            )
        }
        Err(error) => Err(error),
    }
}

/// Parses JSON; the error shows where it broke.
fn json(text: &str, what: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        let position = TextPosition::of(text, &error);
        let TextPosition { line, column } = position;
        let (reason, shown) = (reason(&error), excerpt(text, position));
        anyhow!(
            "{what}: no valid JSON: {reason} at line {line}, column {column}\n{shown}\n{QUOTING}"
        )
    })
}

#[cfg(test)]
mod tests;
