//! `key=value` pairs, typed by the tool's schema, and `key:=JSON`, typed by itself. A first word that is not a pair is the
//! value of the only required parameter.

use anyhow::{anyhow, bail};
use serde_json::{Map, Number, Value, map::Entry};

use super::{json, schema::Schema};

const FORMS: &str = "arguments are key=value or key:=JSON pairs, a JSON object in single quotes \
                     ('{\"name\":\"value\"}'), or - for one on stdin";

/// Reads the pairs into an object. If `schema` is `None`, the tool does not exist, and a value without a key is ignored.
pub(super) fn read(words: &[String], schema: Option<&Value>) -> anyhow::Result<Map<String, Value>> {
    let mut arguments = Map::new();
    let tool = Schema::of(schema.unwrap_or(&Value::Null));
    for (index, word) in words.iter().enumerate() {
        let pair = match (Pair::parse(word, tool)?, tool.only_parameter()) {
            (Some(pair), _) => pair,
            (None, _) if index > 0 => {
                bail!("`{word}` is not a key=value pair; a value with spaces needs quotes; {FORMS}")
            }
            (None, Some(key)) => Pair { key, text: word, is_json: false },
            (None, None) if schema.is_none() => continue,
            (None, None) => return Err(nowhere(word, tool)),
        };
        let (path, schema) = locate(pair.key, tool);
        let value = pair.value(schema)?;
        insert(&mut arguments, &path, value, schema)
            .map_err(|problem| anyhow!("`{word}`: {problem}"))?;
    }
    Ok(arguments)
}

/// Returns the error for a value without a key if the tool does not have exactly one parameter that it could be for.
fn nowhere(word: &str, tool: Schema<'_>) -> anyhow::Error {
    let names: Vec<_> = tool.properties().iter().map(|(name, _)| format!("`{name}`")).collect();
    let why = match &names[..] {
        [] => "no parameters are declared".to_owned(),
        names => format!("there is more than one parameter: {}", names.join(", ")),
    };
    anyhow!("`{word}` is neither a JSON object nor a key=value pair, and {why}; {FORMS}")
}

struct Pair<'a> {
    key: &'a str,
    text: &'a str,
    is_json: bool,
}

impl<'a> Pair<'a> {
    /// Reads a pair; returns `None` if the word is a value without a key.
    fn parse(word: &'a str, tool: Schema<'_>) -> anyhow::Result<Option<Self>> {
        let Some((key, text)) = word.split_once('=') else { return Ok(None) };
        let (key, is_json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        if key.is_empty() {
            bail!("`{word}` has no key before the `=`");
        }
        // An address such as https://host/?q=1 has a `=` too.
        let is_key = is_name(key) || locate(key, tool).1.is_some();
        let is_pair = is_key || tool.only_parameter().is_none();
        Ok(is_pair.then_some(Self { key, text, is_json }))
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

/// Whether `key` looks like the name of a parameter.
fn is_name(key: &str) -> bool {
    key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@'))
}

/// Returns the path to the parameter that `key` names, and its schema. A dot leads into an object if the schema
/// declares that object, and no parameter whose name is the whole `key`.
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

/// Converts `text` to the type that the schema declares; text that does not fit stays text, for validation to report.
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

/// The value of an undeclared parameter: parsed if it is JSON other than a string, else the text itself.
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

/// Adds the value of a repeated parameter: a single value becomes a list first.
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
