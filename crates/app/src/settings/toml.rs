//! TOML → nodes.

use serde_json::Number;
use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

use super::{
    node::{Content, Key, Lines, Node},
    problem::Problem,
};
use crate::excerpt::Position;

/// Parses a TOML document.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start);
        Problem::syntax(text, Position::at(text, offset), error.message())
    })?;
    Ok(Node::new(1, table(document.into_inner(), &Lines::of(text))?))
}

fn table(table: DeTable<'_>, lines: &Lines) -> Result<Content, Problem> {
    let entries = table.into_iter().map(|(name, value)| {
        let line = lines.at(name.span().start);
        let key = Key { line, name: name.into_inner().into_owned() };
        let mut node = node(value, lines)?;
        // `[a]` and what follows it: the table begins where its name stands.
        node.line = node.line.max(line);
        Ok((key, node))
    });
    Ok(Content::Table(entries.collect::<Result<_, Problem>>()?))
}

fn node(value: Spanned<DeValue<'_>>, lines: &Lines) -> Result<Node, Problem> {
    let line = lines.at(value.span().start);
    let no_number = |text: &str| {
        let what = format!("`{text}` is not a number that JSON knows");
        Problem::new(what).at(line)
    };
    let content = match value.into_inner() {
        DeValue::String(text) => Content::Text(text.into_owned()),
        DeValue::Boolean(value) => Content::Bool(value),
        // What people mean by a date in JSON is its text.
        DeValue::Datetime(date) => Content::Text(date.to_string()),
        DeValue::Integer(integer) => {
            Content::Number(whole(&integer).ok_or_else(|| no_number(integer.as_str()))?)
        }
        DeValue::Float(float) => {
            Content::Number(digits(float.as_str()).ok_or_else(|| no_number(float.as_str()))?)
        }
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| node(item, lines));
            Content::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => table(entries, lines)?,
    };
    Ok(Node::new(line, content))
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
