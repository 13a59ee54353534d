//! Numbers that JSON Schema and Rust treat differently.

use serde_json::{Number, Value};

/// Returns the value with integral numbers written as integers: `3` for `3.0`.
pub fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(whole_numbers).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect()
        }
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small, as just checked")]
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 && is_exact(number) => {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// Returns whether an `f64` represents the number exactly: `1.00000000000000000001` is not 1.
fn is_exact(number: &Number) -> bool {
    let text = number.to_string();
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    let significant = match digits.split_once('.') {
        Some((whole, fraction)) => whole.len() + fraction.trim_end_matches('0').len(),
        None => digits.len(),
    };
    // Numbers of up to 15 digits round-trip through `f64`; integers of this size do anyway.
    significant <= 15 || number.as_i64().is_some()
}

/// Returns a canonical form of the value: integers for integral numbers, keys sorted.
pub fn canonical(value: &Value) -> Value {
    let mut value = whole_numbers(value);
    value.sort_all_objects();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        canonical(&serde_json::from_str(text).expect("JSON")).to_string()
    }

    #[test]
    fn what_means_the_same_is_written_the_same() {
        for (one, other) in [
            ("3.0", "3"),
            ("3.00000000000000000000000", "3"),
            ("1.5e1", "15"),
            ("-2e0", "-2"),
            ("8999999999999999", "8999999999999999"),
            (r#"{"b":1.0,"a":[2.0]}"#, r#"{"a":[2],"b":1}"#),
        ] {
            assert_eq!(written(one), written(other));
        }
    }

    #[test]
    fn what_means_something_else_is_not() {
        for (one, other) in [
            ("1.00000000000000000001", "1"),
            ("3000000000000000.0001", "3000000000000000"),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000000001"),
            ("\"1\"", "1"),
        ] {
            assert_ne!(written(one), written(other));
        }
    }
}
