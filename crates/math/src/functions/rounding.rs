//! Rounding, to whole numbers, to decimals, or to multiples of a unit.

use num_complex::Complex64;

use super::function;
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    format::fixed,
    number::{floor, is_integer, nearly_equal},
    operators::{self, unexpected},
    units::{Scalar, Unit},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("round", 1, 3, |arguments, context| rounded("round", arguments, context)),
    function("floor", 1, 3, |arguments, context| rounded("floor", arguments, context)),
    function("ceil", 1, 3, |arguments, context| rounded("ceil", arguments, context)),
    function("fix", 1, 3, |arguments, context| rounded("fix", arguments, context)),
];

fn rounded(name: &'static str, arguments: &[Value], context: &mut Context) -> Result<Value> {
    let zero = Value::Number(0.0);
    let (decimals, unit) = match arguments {
        [_] => (&zero, None),
        [_, Value::Unit(unit)] => (&zero, Some(unit)),
        [_, decimals] => (decimals, None),
        [_, decimals, Value::Unit(unit)] => (decimals, Some(unit)),
        _ => return unexpected(name, "Unit", &arguments[2], 2),
    };
    operators::binary(name, &arguments[0], decimals, context, |value, decimals, context| {
        let Some(decimals) = decimals.as_number() else {
            return unexpected(name, "number", decimals, 1);
        };
        match (value.coerced()?, unit) {
            (Value::Unit(value), Some(unit)) => in_units(name, &value, decimals, unit, context),
            (Value::Unit(_), None) => {
                fail(format!("Too few arguments in function {name} (expected: Unit, index: 2)"))
            }
            (Value::Number(number), None) => Ok(Value::Number(round_with(name, number, decimals)?)),
            (Value::Complex(number), None) => {
                let (re, im) = (
                    round_part(name, number.re, decimals)?,
                    round_part(name, number.im, decimals)?,
                );
                Ok(Complex64::new(re, im).into())
            }
            (other, _) => unexpected(name, "number or Complex or Unit", &other, 0),
        }
    })
}

fn in_units(
    name: &str,
    value: &Unit,
    decimals: f64,
    unit: &Unit,
    context: &mut Context,
) -> Result<Value> {
    let converted = value.converted(unit, context.units())?;
    match converted.numeric() {
        Some(Scalar::Real(number)) => {
            Ok(unit.scaled(Scalar::Real(round_with(name, number, decimals)?), Scalar::mul))
        }
        _ => fail(format!("Function {name} expects a unit with a real value")),
    }
}

fn round_with(name: &str, value: f64, decimals: f64) -> Result<f64> {
    if !is_integer(decimals) || !(0.0..=15.0).contains(&decimals) {
        return fail(format!(
            "Number of decimals in function {name} must be an integer from 0 to 15 inclusive"
        ));
    }
    Ok(match name {
        "round" => round(value, decimals),
        "floor" => shifted(value, decimals, floor),
        "ceil" => shifted(value, decimals, ceil),
        _ => shifted(value, decimals, if value > 0.0 { floor } else { ceil }),
    })
}

/// Parts of complex numbers are rounded without the tolerance.
fn round_part(name: &str, value: f64, decimals: f64) -> Result<f64> {
    if name == "round" && !is_integer(decimals) {
        return fail("Number of decimals in function round must be an integer");
    }
    let plain: fn(f64) -> f64 = match name {
        "round" => |value| (value + 0.5).floor(),
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        _ => f64::trunc,
    };
    Ok(shifted(value, decimals, plain))
}

fn shifted(value: f64, decimals: f64, operation: fn(f64) -> f64) -> f64 {
    let shift = libm::pow(10.0, decimals);
    operation(value * shift) / shift
}

fn decimal(value: f64, decimals: usize) -> f64 {
    fixed(value, Some(decimals)).parse().unwrap_or(value)
}

/// Rounds half away from zero; what is a hair below a half counts as one.
fn round(value: f64, decimals: f64) -> f64 {
    const TOLERANCE_DECIMALS: usize = 12;
    if !value.is_finite() {
        return value;
    }
    let decimals = decimals as usize;
    if decimals >= TOLERANCE_DECIMALS {
        return decimal(value, decimals);
    }
    let close = decimal(value, TOLERANCE_DECIMALS);
    decimal(if nearly_equal(value, close) { close } else { value }, decimals)
}

fn ceil(value: f64) -> f64 {
    -floor(-value)
}
