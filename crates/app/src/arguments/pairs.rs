//! `key=value` pairs: the schema says what each value is; `key:=JSON` says it itself.

use anyhow::{anyhow, bail};
use serde_json::{Map, Number, Value, map::Entry};

use super::{json, schema::Schema};

/// Reads the pairs into an object.
pub(super) fn read(words: &[String], schema: &Value) -> anyhow::Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for word in words {
        let pair = Pair::parse(word)?;
        let (path, schema) = locate(pair.key, Schema::of(schema));
        let value = pair.value(schema)?;
        insert(&mut arguments, &path, value, schema)
            .map_err(|problem| anyhow!("`{word}`: {problem}"))?;
    }
    Ok(arguments)
}

struct Pair<'a> {
    key: &'a str,
    text: &'a str,
    is_json: bool,
}

impl<'a> Pair<'a> {
    fn parse(word: &'a str) -> anyhow::Result<Self> {
        let Some((key, text)) = word.split_once('=') else {
            bail!("`{word}` is not a key=value pair");
        };
        let (key, is_json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        if key.is_empty() {
            bail!("`{word}` has no key before the `=`");
        }
        Ok(Self { key, text, is_json })
    }

    fn value(&self, schema: Option<Schema<'_>>) -> anyhow::Result<Value> {
        let parse = |text: &str| json(text, &format!("the value of `{}`", self.key));
        match (self.is_json, schema) {
            (true, _) => parse(self.text),
            (false, Some(schema)) => typed(self.text, schema, &parse),
            (false, None) => Ok(guessed(self.text)),
        }
    }
}

/// The way to the parameter that `key` names, and what the schema says of it. A dot leads into an object
/// where the schema declares that object and no parameter of the whole name.
fn locate<'k, 's>(key: &'k str, schema: Schema<'s>) -> (Vec<&'k str>, Option<Schema<'s>>) {
    if let Some(property) = schema.property(key) {
        return (vec![key], Some(property));
    }
    let outer = key.split_once('.').and_then(|(outer, rest)| {
        let property = schema.property(outer)?;
        let leads_on = !rest.is_empty() && property.types().contains(&"object");
        leads_on.then_some((outer, rest, property))
    });
    match outer {
        Some((outer, rest, property)) => {
            let (mut path, schema) = locate(rest, property);
            path.insert(0, outer);
            (path, schema)
        }
        None => (vec![key], None),
    }
}

/// The value that `text` is by the schema; what does not fit stays text, for validation to name.
fn typed(
    text: &str,
    schema: Schema<'_>,
    parse: &dyn Fn(&str) -> anyhow::Result<Value>,
) -> anyhow::Result<Value> {
    let options = schema.options();
    let is_meant = |option: &&&Value| match option {
        Value::String(option) => option == text,
        other => other.to_string() == text,
    };
    if let Some(option) = options.iter().find(is_meant) {
        return Ok((**option).clone());
    }
    let types = schema.types();
    let may_be = |name| types.contains(&name);
    let looks_like = |name, bracket| may_be(name) && text.trim_start().starts_with(bracket);
    if types.is_empty() {
        return Ok(if options.is_empty() { guessed(text) } else { text.into() });
    }
    if (may_be("integer") || may_be("number")) && number(text).is_some() {
        return Ok(number(text).map_or(Value::Null, Value::Number));
    }
    if may_be("boolean") && matches!(text, "true" | "false") {
        return Ok(Value::Bool(text == "true"));
    }
    if looks_like("object", '{') || looks_like("array", '[') {
        return match parse(text) {
            Err(_) if may_be("string") => Ok(text.into()),
            parsed => parsed,
        };
    }
    if may_be("string") {
        return Ok(text.into());
    }
    if may_be("null") && text == "null" {
        return Ok(Value::Null);
    }
    if may_be("array") {
        let item =
            schema.items().map_or_else(|| Ok(guessed(text)), |items| typed(text, items, parse));
        return Ok(Value::Array(vec![item?]));
    }
    Ok(text.into())
}

/// The value of a parameter that nobody declared: JSON if it is JSON, but a string is what it is.
fn guessed(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::String(_)) | Err(_) => text.into(),
        Ok(value) => value,
    }
}

fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text).ok()
}

fn insert(
    arguments: &mut Map<String, Value>,
    path: &[&str],
    value: Value,
    schema: Option<Schema<'_>>,
) -> Result<(), String> {
    let Some((name, rest)) = path.split_first() else {
        return Ok(());
    };
    match (arguments.entry(*name), rest) {
        (Entry::Vacant(place), []) => {
            place.insert(value);
            Ok(())
        }
        (Entry::Occupied(mut place), []) => {
            let types = schema.map(Schema::types).unwrap_or_default();
            if !types.is_empty() && !types.contains(&"array") {
                return Err(format!("`{name}` is given twice, and it is not a list"));
            }
            append(place.get_mut(), value);
            Ok(())
        }
        (place, rest) => match place.or_insert_with(|| Value::Object(Map::new())) {
            Value::Object(inner) => insert(inner, rest, value, schema),
            _ => Err(format!("`{name}` already has a value that is not an object")),
        },
    }
}

/// A parameter that is given again becomes a list, or a longer one.
fn append(list: &mut Value, value: Value) {
    if !list.is_array() {
        *list = Value::Array(vec![list.take()]);
    }
    if let Value::Array(items) = list {
        match value {
            Value::Array(more) => items.extend(more),
            one => items.push(one),
        }
    }
}
