//! Reads JSON values from the config.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

/// Reads a value that is there, null included.
pub(super) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    json_value(deserializer).map(Some)
}

pub(super) fn json_object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    match json_value(deserializer)? {
        Value::Object(object) => Ok(object),
        _ => Err(D::Error::custom("expected a table of arguments")),
    }
}

pub(super) fn json_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer).map(plain_dates)
}

/// TOML hands its dates over as a table with this one key; people who write a date mean its text.
const TOML_DATE: &str = "$__toml_private_datetime";

fn plain_dates(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.len() == 1 && object.contains_key(TOML_DATE) => {
            object.remove(TOML_DATE).unwrap_or_default()
        }
        Value::Object(object) => {
            let entries = object.into_iter().map(|(key, value)| (key, plain_dates(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(plain_dates).collect(),
        other => other,
    }
}

pub(super) fn json_values<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Value>, D::Error> {
    match json_value(deserializer)? {
        Value::Array(items) => Ok(items),
        _ => Err(D::Error::custom("expected a list")),
    }
}
