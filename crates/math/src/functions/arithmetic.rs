//! Roots, powers, exponents, logarithms, and the operators by name.

use std::f64::consts::{LN_2, LN_10, PI};

use num_complex::Complex64;

use super::{
    ANY,
    arguments::{items, not_for_matrices, number as number_at, number_or, unary},
    function,
};
use crate::{
    complex,
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number::{self, is_integer, power},
    operators::{self, each, unexpected},
    units::Scalar,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("abs", 1, 1, |arguments, context| each(&arguments[0], context, abs)),
    function("sign", 1, 1, |arguments, context| each(&arguments[0], context, sign)),
    function("sqrt", 1, 1, |arguments, _| sqrt(&arguments[0])),
    function("cbrt", 1, 2, cbrt),
    function("square", 1, 1, |arguments, context| product_of("square", &arguments[0], 2, context)),
    function("cube", 1, 1, |arguments, context| product_of("cube", &arguments[0], 3, context)),
    function("exp", 1, 1, |arguments, _| {
        unary("exp", &arguments[0], |x| number::exp(x).into(), complex::exp)
    }),
    function("expm1", 1, 1, |arguments, _| {
        unary("expm1", &arguments[0], |x| libm::expm1(x).into(), |z| complex::exp(z) - 1.0)
    }),
    function("log", 1, 2, log),
    function("log10", 1, 1, |arguments, context| each(&arguments[0], context, log10)),
    function("log2", 1, 1, |arguments, context| each(&arguments[0], context, log2)),
    function("log1p", 1, 2, log1p),
    function("nthRoot", 1, 2, nth_root),
    function("nthRoots", 1, 2, nth_roots),
    function("hypot", 1, ANY, hypot),
    function("pow", 2, 2, |arguments, context| {
        operators::power(&arguments[0], &arguments[1], context)
    }),
    function("mod", 2, 2, |arguments, context| {
        operators::modulus(&arguments[0], &arguments[1], context)
    }),
    function("add", 2, ANY, |arguments, context| folded(arguments, context, operators::add)),
    function("multiply", 2, ANY, |arguments, context| {
        folded(arguments, context, operators::multiply)
    }),
    function("subtract", 2, 2, |arguments, context| {
        operators::subtract(&arguments[0], &arguments[1], context)
    }),
    function("divide", 2, 2, |arguments, context| {
        operators::divide(&arguments[0], &arguments[1], context)
    }),
    function("dotMultiply", 2, 2, |arguments, context| {
        operators::dot_multiply(&arguments[0], &arguments[1], context)
    }),
    function("dotDivide", 2, 2, |arguments, context| {
        operators::dot_divide(&arguments[0], &arguments[1], context)
    }),
    function("dotPow", 2, 2, |arguments, context| {
        operators::dot_power(&arguments[0], &arguments[1], context)
    }),
    function("unaryMinus", 1, 1, |arguments, context| {
        operators::unary_minus(&arguments[0], context)
    }),
    function("unaryPlus", 1, 1, |arguments, context| operators::unary_plus(&arguments[0], context)),
];

fn folded(
    arguments: &[Value],
    context: &mut Context,
    operation: fn(&Value, &Value, &mut Context) -> Result<Value>,
) -> Result<Value> {
    arguments[1..].iter().try_fold(arguments[0].clone(), |sum, next| operation(&sum, next, context))
}

/// The absolute value of a scalar.
pub(super) fn abs(value: &Value, _: &mut Context) -> Result<Value> {
    match value.coerced()? {
        Value::Number(number) => Ok(Value::Number(number.abs())),
        Value::Complex(number) => Ok(Value::Number(complex::abs(number))),
        Value::Unit(unit) => Ok(unit.absolute().into()),
        other => unexpected("abs", "number or Complex or Unit", &other, 0),
    }
}

fn sign(value: &Value, _: &mut Context) -> Result<Value> {
    let real =
        |number: f64| if number == 0.0 || number.is_nan() { number } else { number.signum() };
    match value.coerced()? {
        Value::Number(number) => Ok(Value::Number(real(number))),
        Value::Complex(number) if number.im == 0.0 => Ok(Value::complex(real(number.re), 0.0)),
        Value::Complex(number) => Ok((number / complex::abs(number)).into()),
        Value::Unit(unit) => match unit.value {
            Some(Scalar::Real(number)) => Ok(Value::Number(real(number))),
            _ => fail("sign is not defined for a unit without a real value"),
        },
        other => unexpected("sign", "number or Complex or Unit", &other, 0),
    }
}

/// The square root, complex for a negative number.
pub(super) fn sqrt(value: &Value) -> Result<Value> {
    if let Value::Unit(unit) = value {
        return Ok(unit.power(0.5));
    }
    let real = |number: f64| {
        if number < 0.0 { complex::sqrt(number.into()).into() } else { number.sqrt().into() }
    };
    unary("sqrt", value, real, complex::sqrt)
}

fn cbrt(arguments: &[Value], _: &mut Context) -> Result<Value> {
    let all = matches!(arguments.get(1), Some(Value::Boolean(true)));
    match arguments[0].coerced()? {
        Value::Unit(unit) => Ok(match unit.value {
            None => return unexpected("cbrt", "a unit with a value", &arguments[0], 0),
            Some(Scalar::Real(value)) if value < 0.0 => {
                let positive =
                    unit.map_value(|value| value.mul(Scalar::Real(-1.0))).power(1.0 / 3.0);
                negated(positive)
            }
            _ => unit.power(1.0 / 3.0),
        }),
        Value::Number(number) if !all => Ok(Value::Number(libm::cbrt(number))),
        value @ (Value::Number(_) | Value::Complex(_)) => {
            let roots = cube_roots(value.as_complex().unwrap_or_default()).map(Value::from);
            Ok(if all { Value::vector(roots.to_vec()) } else { roots[0].clone() })
        }
        Value::Matrix(_) => not_for_matrices("cbrt"),
        other => unexpected("cbrt", "number or Complex or Unit", &other, 0),
    }
}

/// The three cube roots, the principal one first.
pub(super) fn cube_roots(number: Complex64) -> [Complex64; 3] {
    let (size, angle) = (libm::cbrt(complex::abs(number)), complex::arg(number) / 3.0);
    [0.0, PI * 2.0 / 3.0, -PI * 2.0 / 3.0]
        .map(|turn| complex::mul(size.into(), complex::exp(Complex64::new(0.0, angle + turn))))
}

fn negated(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(-number),
        Value::Unit(unit) => unit.map_value(|value| value.mul(Scalar::Real(-1.0))).into(),
        other => other,
    }
}

fn product_of(name: &str, value: &Value, times: usize, context: &mut Context) -> Result<Value> {
    match value {
        Value::Matrix(_) => not_for_matrices(name),
        Value::Unit(unit) => Ok(unit.power(times as f64)),
        _ => {
            let factors = vec![value.coerced()?; times];
            folded(&factors, context, operators::multiply)
        }
    }
}

fn ln(value: &Value) -> Result<Value> {
    let real = |number: f64| {
        if number < 0.0 { complex::log(number.into()).into() } else { libm::log(number).into() }
    };
    unary("log", value, real, complex::log)
}

fn log(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let logarithm = ln(&arguments[0])?;
    match arguments.get(1) {
        None => Ok(logarithm),
        Some(base) => operators::divide_scalar(&logarithm, &ln(base)?, context),
    }
}

fn log10(value: &Value, _: &mut Context) -> Result<Value> {
    let over = |number: Complex64| complex::log(number) / LN_10;
    let real =
        |number: f64| if number < 0.0 { over(number.into()).into() } else { number.log10().into() };
    unary("log10", value, real, over)
}

fn log2(value: &Value, _: &mut Context) -> Result<Value> {
    let over = |number: Complex64| complex::log(number) / LN_2;
    let real = |number: f64| {
        if number < 0.0 { over(number.into()).into() } else { libm::log2(number).into() }
    };
    unary("log2", value, real, over)
}

fn log1p(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let logarithm = each(&arguments[0], context, |value, _| {
        let over = |number: Complex64| complex::log(number + 1.0);
        let real = |number: f64| {
            if number < -1.0 { over(number.into()).into() } else { libm::log1p(number).into() }
        };
        unary("log1p", value, real, over)
    })?;
    match arguments.get(1) {
        None => Ok(logarithm),
        Some(base) => operators::divide(&logarithm, &ln(base)?, context),
    }
}

fn nth_root(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let two = Value::Number(2.0);
    let root = arguments.get(1).unwrap_or(&two);
    operators::binary("nthRoot", &arguments[0], root, context, |value, root, _| {
        match (value.coerced()?, root.coerced()?) {
            (Value::Number(value), Value::Number(root)) => {
                Ok(Value::Number(real_root(value, root)?))
            }
            (Value::Complex(_), _) => {
                fail("Complex number not supported in function nthRoot. Use nthRoots instead.")
            }
            (Value::Number(_), other) => unexpected("nthRoot", "number", &other, 1),
            (other, _) => unexpected("nthRoot", "number", &other, 0),
        }
    })
}

fn real_root(value: f64, root: f64) -> Result<f64> {
    let (inverse, root) = (root < 0.0, root.abs());
    if root == 0.0 {
        return fail("Root must be non-zero");
    }
    if value < 0.0 && root % 2.0 != 1.0 {
        return fail("Root must be odd when a is negative.");
    }
    if value == 0.0 {
        return Ok(if inverse { f64::INFINITY } else { 0.0 });
    }
    if !value.is_finite() {
        return Ok(if inverse { 0.0 } else { value });
    }
    let size = power(value.abs(), 1.0 / root).copysign(value);
    Ok(if inverse { 1.0 / size } else { size })
}

fn nth_roots(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let root = number_or("nthRoots", arguments, 1, 2.0)?;
    if root < 0.0 {
        return fail("Root must be greater than zero");
    }
    if root == 0.0 {
        return fail("Root must be non-zero");
    }
    if !is_integer(root) {
        return fail("Root must be an integer");
    }
    let Some(value) = arguments[0].as_complex() else {
        return unexpected("nthRoots", "number or Complex", &arguments[0], 0);
    };
    if value.re == 0.0 && value.im == 0.0 {
        return Ok(Value::vector(vec![Value::complex(0.0, 0.0)]));
    }
    context.reserve(root as usize)?;
    let on_axis = value.re == 0.0 || value.im == 0.0;
    // Whole quarters of a turn, when the value lies on an axis.
    let quarters = if value.re == 0.0 {
        1.0 + 2.0 * f64::from(value.im < 0.0)
    } else {
        2.0 * f64::from(value.re < 0.0)
    };
    let (angle, size) = (complex::arg(value), power(complex::abs(value), 1.0 / root));
    let one = |turn: usize| {
        let turn = turn as f64;
        let exact = (quarters + 4.0 * turn) / root;
        if on_axis && exact == exact.round() {
            return match exact.rem_euclid(4.0) {
                0.0 => Value::complex(size, 0.0),
                1.0 => Value::complex(0.0, size),
                2.0 => Value::complex(-size, 0.0),
                _ => Value::complex(0.0, -size),
            };
        }
        let turned = (angle + 2.0 * PI * turn) / root;
        Value::complex(size * libm::cos(turned), size * libm::sin(turned))
    };
    Ok(Value::vector((0..root as usize).map(one).collect()))
}

/// The length of the diagonal, scaled so that squares do not overflow.
fn hypot(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let items = items("hypot", arguments)?;
    context.spend(items.len())?;
    let (mut sum, mut largest) = (0.0, 0.0f64);
    for (index, _) in items.iter().enumerate() {
        let value = number_at("hypot", &items, index)?.abs();
        if largest < value {
            sum *= (largest / value) * (largest / value);
            sum += 1.0;
            largest = value;
        } else {
            sum += if value > 0.0 { (value / largest) * (value / largest) } else { value };
        }
    }
    Ok(Value::Number(largest * sum.sqrt()))
}
