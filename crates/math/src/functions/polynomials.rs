//! Roots of polynomials up to the third degree.

use super::{arguments::number, arithmetic::cube_roots, function};
use crate::{
    complex,
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number::nearly_equal,
    operators::unexpected,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[function("polynomialRoot", 1, 4, roots)];

/// The distinct roots of the polynomial whose coefficients are given from the constant on.
fn roots(arguments: &[Value], _: &mut Context) -> Result<Value> {
    if let Some(place) = arguments.iter().position(|argument| matches!(argument, Value::Complex(_)))
    {
        return unexpected("polynomialRoot", "number", &arguments[place], place);
    }
    let coefficients: Result<Vec<f64>> =
        (0..arguments.len()).map(|index| number("polynomialRoot", arguments, index)).collect();
    let mut coefficients = coefficients?;
    while coefficients.last().is_some_and(|last| nearly_equal(*last, 0.0)) {
        coefficients.pop();
    }
    match coefficients[..] {
        [d, c] => Ok(Value::numbers([-(d / c)])),
        [c, b, a] => Ok(quadratic(a, b, c)),
        [d, c, b, a] => Ok(cubic(a, b, c, d)),
        _ => fail("The polynomial must have a non-zero non-constant coefficient"),
    }
}

fn quadratic(a: f64, b: f64, c: f64) -> Value {
    let below = 2.0 * a;
    let (square, product) = (b * b, 4.0 * a * c);
    if nearly_equal(square, product) {
        return Value::numbers([-b / below]);
    }
    if square > product {
        let root = (square - product).sqrt();
        return Value::numbers([(root - b) / below, (-root - b) / below]);
    }
    let root = complex::sqrt((square - product).into());
    Value::vector(vec![((root - b) / below).into(), ((-root - b) / below).into()])
}

/// Cardano's formula, with repeated roots told apart first.
fn cubic(a: f64, b: f64, c: f64, d: f64) -> Value {
    let below = -(3.0 * a);
    let (square, product) = (b * b, 3.0 * a * c);
    let (cubes, mixed) = (2.0 * b * b * b + 27.0 * a * a * d, 9.0 * a * b * c);
    if nearly_equal(square, product) && nearly_equal(cubes, mixed) {
        return Value::numbers([b / below]);
    }
    let (delta0, delta1) = (square - product, cubes - mixed);
    let positive = 18.0 * a * b * c * d + b * b * c * c;
    let negative = 4.0 * b * b * b * d + 4.0 * a * c * c * c + 27.0 * a * a * d * d;
    if nearly_equal(positive, negative) {
        let single = (4.0 * a * b * c - (9.0 * a * a * d + b * b * b)) / (a * delta0);
        return Value::numbers([single, (9.0 * a * d - b * c) / (2.0 * delta0)]);
    }
    let cube = if nearly_equal(square, product) {
        delta1.into()
    } else {
        let inside = delta1 * delta1 - 4.0 * delta0 * delta0 * delta0;
        (complex::sqrt(inside.into()) + delta1) / 2.0
    };
    let root = |root: num_complex::Complex64| {
        let whole = (root + b + complex::div(delta0.into(), root)) / below;
        if nearly_equal(whole.re, whole.re + whole.im) {
            Value::Number(whole.re)
        } else {
            whole.into()
        }
    };
    Value::vector(cube_roots(cube).map(root).to_vec())
}
