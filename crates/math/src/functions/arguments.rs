//! Reading arguments, and the errors for those that do not fit.

use std::rc::Rc;

use num_complex::Complex64;

use crate::{
    error::{Result, fail},
    matrix::Matrix,
    number::as_count,
    operators::unexpected,
    value::Value,
};

/// The number at `index`.
pub(super) fn number(name: &str, arguments: &[Value], index: usize) -> Result<f64> {
    match arguments[index].coerced()? {
        Value::Number(number) => Ok(number),
        other => unexpected(name, "number", &other, index),
    }
}

/// The number at `index`, or `default` if there is none.
pub(super) fn number_or(
    name: &str,
    arguments: &[Value],
    index: usize,
    default: f64,
) -> Result<f64> {
    if index < arguments.len() { number(name, arguments, index) } else { Ok(default) }
}

/// The matrix at `index`.
pub(super) fn matrix(name: &str, arguments: &[Value], index: usize) -> Result<Rc<Matrix>> {
    match &arguments[index] {
        Value::Matrix(matrix) => Ok(matrix.clone()),
        other => unexpected(name, "Array or DenseMatrix or SparseMatrix or Matrix", other, index),
    }
}

/// The text at `index`.
pub(super) fn text(name: &str, arguments: &[Value], index: usize) -> Result<Rc<str>> {
    match &arguments[index] {
        Value::Text(text) => Ok(text.clone()),
        other => unexpected(name, "string", other, index),
    }
}

/// A function of one number, real or complex, that matrices have to be mapped over.
pub(super) fn unary(
    name: &str,
    value: &Value,
    real: impl Fn(f64) -> Value,
    complex: impl Fn(Complex64) -> Complex64,
) -> Result<Value> {
    match value.coerced()? {
        Value::Number(number) => Ok(real(number)),
        Value::Complex(number) => Ok(complex(number).into()),
        Value::Matrix(_) => not_for_matrices(name),
        other => unexpected(name, "number or Complex", &other, 0),
    }
}

/// A function of one real number.
pub(super) fn real(
    name: &str,
    value: &Value,
    function: impl Fn(f64) -> Result<f64>,
) -> Result<Value> {
    match value.coerced()? {
        Value::Number(number) => Ok(Value::Number(function(number)?)),
        Value::Matrix(_) => not_for_matrices(name),
        other => unexpected(name, "number", &other, 0),
    }
}

pub(super) fn not_for_matrices<T>(name: &str) -> Result<T> {
    fail(format!(
        "Function '{name}' doesn't apply to matrices. To call it elementwise on a matrix 'M', try 'map(M, {name})'."
    ))
}

/// A whole number that is not negative, for counting.
pub(super) fn count(number: f64, message: &str) -> Result<usize> {
    as_count(number).map_or_else(|| fail(message), Ok)
}

/// The items of one matrix argument, or the arguments themselves.
pub(super) fn items(name: &str, arguments: &[Value]) -> Result<Vec<Value>> {
    if let [Value::Matrix(matrix)] = arguments {
        return Ok(matrix.items.clone());
    }
    if arguments.iter().any(|argument| matches!(argument, Value::Matrix(_))) {
        return fail(format!("Scalar values expected in function {name}"));
    }
    Ok(arguments.to_vec())
}

/// The one-based dimension at `index`, from zero.
pub(super) fn dimension(
    name: &str,
    arguments: &[Value],
    index: usize,
    matrix: &Matrix,
) -> Result<usize> {
    let dimension = number(name, arguments, index)?;
    let count = matrix.size.len();
    match as_count(dimension) {
        Some(place) if (1..=count).contains(&place) => Ok(place - 1),
        Some(0) => fail("Index out of range (0 < 1)"),
        Some(place) => fail(format!("Index out of range ({place} > {count})")),
        None => fail(format!("Dimension must be a positive integer (value: {dimension})")),
    }
}
