//! Numbers that JSON Schema and Rust see differently.

use serde_json::Value;

/// The value with whole numbers written as such: `3` for `3.0`.
pub fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(whole_numbers).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect()
        }
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small, as just checked")]
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// The same value for the same meaning, however it is written: whole numbers as such, keys in order.
pub fn canonical(value: &Value) -> Value {
    let mut value = whole_numbers(value);
    value.sort_all_objects();
    value
}
