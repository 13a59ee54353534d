//! Reading arguments as JSON Schema understands them.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Number;

/// Reads an optional whole number; `3.0` is one for JSON Schema, though not for serde.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let whole = number.as_i64().or_else(|| from_float(number.as_f64()?));
    match whole {
        Some(whole) => Ok(Some(whole)),
        None => Err(D::Error::custom(format_args!("{number} is not a whole number"))),
    }
}

fn from_float(number: f64) -> Option<i64> {
    // Beyond this floats skip whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn whole_numbers_may_have_a_point() {
        let check = |value: Value| whole(value).map_err(|error| error.to_string());
        assert_eq!(check(json!(60)), Ok(Some(60)));
        assert_eq!(check(json!(60.0)), Ok(Some(60)));
        assert_eq!(check(json!(-3)), Ok(Some(-3)));
        assert_eq!(check(json!(null)), Ok(None));
        assert_eq!(check(json!(60.5)), Err("60.5 is not a whole number".to_owned()));
        assert!(check(json!("60")).is_err());
    }
}
