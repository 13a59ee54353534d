//! TOML → nodes.

use serde_json::Number;
use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

use super::{
    node::{ConfigKey, ConfigNode, LineIndex, NodeContent},
    problem::ConfigProblem,
};
use crate::excerpt::TextPosition;

/// Parses a TOML document.
pub(super) fn parse(text: &str) -> Result<ConfigNode, ConfigProblem> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start);
        ConfigProblem::syntax(text, TextPosition::at(text, offset), error.message())
    })?;
    Ok(ConfigNode::new(1, table(document.into_inner(), &LineIndex::of(text))?))
}

fn table(table: DeTable<'_>, lines: &LineIndex) -> Result<NodeContent, ConfigProblem> {
    let entries = table.into_iter().map(|(name, value)| {
        let line = lines.at(name.span().start);
        let key = ConfigKey { line, name: name.into_inner().into_owned() };
        let mut node = node(value, lines)?;
        // `[a]` and what follows it: the table begins where its name stands.
        node.line = node.line.max(line);
        Ok((key, node))
    });
    Ok(NodeContent::Table(entries.collect::<Result<_, ConfigProblem>>()?))
}

fn node(value: Spanned<DeValue<'_>>, lines: &LineIndex) -> Result<ConfigNode, ConfigProblem> {
    let line = lines.at(value.span().start);
    let no_number = |text: &str| {
        let what = format!("`{text}` is not a number that JSON knows");
        ConfigProblem::new(what).at(line)
    };
    let content = match value.into_inner() {
        DeValue::String(text) => NodeContent::Text(text.into_owned()),
        DeValue::Boolean(value) => NodeContent::Bool(value),
        // JSON has no dates, so a date becomes its text.
        DeValue::Datetime(date) => NodeContent::Text(date.to_string()),
        DeValue::Integer(integer) => {
            NodeContent::Number(whole(&integer).ok_or_else(|| no_number(integer.as_str()))?)
        }
        DeValue::Float(float) => {
            NodeContent::Number(digits(float.as_str()).ok_or_else(|| no_number(float.as_str()))?)
        }
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| node(item, lines));
            NodeContent::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => table(entries, lines)?,
    };
    Ok(ConfigNode::new(line, content))
}

fn whole(integer: &DeInteger<'_>) -> Option<Number> {
    match integer.radix() {
        10 => digits(integer.as_str()),
        radix => u64::from_str_radix(integer.as_str(), radix).ok().map(Number::from),
    }
}

/// The number with the digits that were written.
fn digits(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim_start_matches('+')).ok()
}
