//! Questions about one value.

use super::function;
use crate::{
    error::Result,
    evaluate::{Builtin, Context},
    number::{is_integer, nearly_equal},
    operators::{each, unexpected},
    parser::parse_number,
    units::Scalar,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("isInteger", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| match value.coerced()? {
            Value::Number(number) => Ok(is_integer(number).into()),
            other => unexpected("isInteger", "number", &other, 0),
        })
    }),
    function("isNegative", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| {
            of_real("isNegative", value, |x| x < 0.0 && !nearly_equal(x, 0.0))
        })
    }),
    function("isPositive", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| {
            of_real("isPositive", value, |x| x > 0.0 && !nearly_equal(x, 0.0))
        })
    }),
    function("isZero", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| match value {
            Value::Complex(number) => {
                Ok((nearly_equal(number.re, 0.0) && nearly_equal(number.im, 0.0)).into())
            }
            _ => of_real("isZero", value, |x| nearly_equal(x, 0.0)),
        })
    }),
    function("isNaN", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| match value {
            Value::Complex(number) => Ok((number.re.is_nan() && number.im.is_nan()).into()),
            _ => of_real("isNaN", value, f64::is_nan),
        })
    }),
    function("isFinite", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| Ok(is_bounded(value).into()))
    }),
    function("isBounded", 1, 1, is_all_bounded),
    function("isNumeric", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| {
            Ok(matches!(value, Value::Number(_) | Value::Boolean(_)).into())
        })
    }),
    function("hasNumericValue", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| {
            Ok(match value {
                Value::Number(_) | Value::Boolean(_) => true,
                Value::Text(text) => {
                    !text.trim().is_empty()
                        && parse_number(text).is_ok_and(|number| !number.is_nan())
                }
                _ => false,
            }
            .into())
        })
    }),
];

fn of_real(name: &str, value: &Value, test: fn(f64) -> bool) -> Result<Value> {
    match value.coerced()? {
        Value::Number(number) => Ok(test(number).into()),
        Value::Unit(unit) if matches!(unit.value, Some(Scalar::Real(_))) => match unit.value {
            Some(Scalar::Real(number)) => Ok(test(number).into()),
            _ => Ok(false.into()),
        },
        other => unexpected(name, "number or Unit", &other, 0),
    }
}

fn is_bounded(value: &Value) -> bool {
    match value {
        Value::Complex(number) => number.re.is_finite() && number.im.is_finite(),
        Value::Unit(unit) => unit.value.is_some_and(|value| value.abs().is_finite()),
        other => other.as_number().is_some_and(f64::is_finite),
    }
}

fn is_all_bounded(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = &arguments[0] else { return Ok(is_bounded(&arguments[0]).into()) };
    context.spend(matrix.items.len())?;
    Ok(matrix.items.iter().all(is_bounded).into())
}
