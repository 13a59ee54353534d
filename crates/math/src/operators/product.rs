//! Products, quotients and powers, of scalars and of whole matrices.

use super::{add, binary, paired, unary_minus, unexpected};
use crate::{
    complex,
    error::{Result, fail},
    evaluate::Context,
    matrix::{Matrix, size_text},
    number::{self, as_count, is_integer, to_text},
    operators::subtract,
    units::Scalar,
    value::Value,
};

pub(crate) fn multiply(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    match (left, right) {
        (Value::Matrix(a), Value::Matrix(b)) => multiply_matrices(a, b, context),
        _ => binary("multiply", left, right, context, multiply_scalar),
    }
}

pub(crate) fn multiply_scalar(left: &Value, right: &Value, _: &mut Context) -> Result<Value> {
    if let (Value::Number(a), Value::Number(b)) = (left, right) {
        return Ok(Value::Number(a * b));
    }
    match paired("multiplyScalar", left, right)? {
        (Value::Unit(a), Value::Unit(b)) => a.multiply(&b),
        (Value::Unit(unit), number @ (Value::Number(_) | Value::Complex(_)))
        | (number @ (Value::Number(_) | Value::Complex(_)), Value::Unit(unit)) => {
            Ok(unit.scaled(Scalar::of(&number)?, Scalar::mul))
        }
        (
            a @ (Value::Number(_) | Value::Complex(_)),
            b @ (Value::Number(_) | Value::Complex(_)),
        ) => Ok(Scalar::of(&a)?.mul(Scalar::of(&b)?).into()),
        (Value::Number(_) | Value::Complex(_) | Value::Unit(_), other) => {
            unexpected("multiplyScalar", "number or Complex or Unit", &other, 1)
        }
        (other, _) => unexpected("multiplyScalar", "number or Complex or Unit", &other, 0),
    }
}

/// The sum of products of items of two matrices, `length` of them.
fn inner(
    length: usize,
    context: &mut Context,
    pair: impl Fn(usize) -> (Value, Value),
) -> Result<Value> {
    context.spend(length)?;
    let mut sum: Option<Value> = None;
    for place in 0..length {
        let (a, b) = pair(place);
        let product = multiply_scalar(&a, &b, context)?;
        sum = Some(match sum {
            Some(sum) => add(&sum, &product, context)?,
            None => product,
        });
    }
    Ok(sum.unwrap_or(Value::Number(0.0)))
}

fn multiply_matrices(a: &Matrix, b: &Matrix, context: &mut Context) -> Result<Value> {
    let mismatch = |what: String| fail(format!("Dimension mismatch in multiplication. {what}"));
    match (&a.size[..], &b.size[..]) {
        ([n], [m]) => {
            if n != m {
                return mismatch("Vectors must have the same length".to_owned());
            }
            if *n == 0 {
                return fail("Cannot multiply two empty vectors");
            }
            inner(*n, context, |place| (a.items[place].clone(), b.items[place].clone()))
        }
        ([n], [rows, columns]) => {
            if n != rows {
                return mismatch(format!("Vector length ({n}) must match Matrix rows ({rows})"));
            }
            context.reserve(*columns)?;
            let item = |column: usize| {
                inner(*n, context, |place| (a.items[place].clone(), b.at(place, column).clone()))
            };
            Ok(Value::vector((0..*columns).map(item).collect::<Result<_>>()?))
        }
        ([rows, columns], [n]) => {
            if columns != n {
                return mismatch(format!(
                    "Matrix columns ({columns}) must match Vector length ({n})"
                ));
            }
            context.reserve(*rows)?;
            let item = |row: usize| {
                inner(*n, context, |place| (a.at(row, place).clone(), b.items[place].clone()))
            };
            Ok(Value::vector((0..*rows).map(item).collect::<Result<_>>()?))
        }
        ([rows, length], [n, columns]) => {
            if length != n {
                return mismatch(format!(
                    "Matrix A columns ({length}) must match Matrix B rows ({n})"
                ));
            }
            context.reserve_size(&[*rows, *columns])?;
            let mut items = Vec::new();
            for (row, column) in
                (0..*rows).flat_map(|row| (0..*columns).map(move |column| (row, column)))
            {
                items.push(inner(*length, context, |place| {
                    (a.at(row, place).clone(), b.at(place, column).clone())
                })?);
            }
            Ok(Matrix::new(vec![*rows, *columns], items).into())
        }
        (size, _) => fail(format!(
            "Matrix must have 1 or 2 dimensions (Matrix A has {} dimensions)",
            size.len()
        )),
    }
}

pub(crate) fn divide(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    if let Value::Matrix(_) = right {
        let inverse = invert(right, context)?;
        return multiply(left, &inverse, context);
    }
    binary("divide", left, right, context, divide_scalar)
}

pub(crate) fn divide_scalar(left: &Value, right: &Value, _: &mut Context) -> Result<Value> {
    if let (Value::Number(a), Value::Number(b)) = (left, right) {
        return Ok(Value::Number(a / b));
    }
    match paired("divideScalar", left, right)? {
        (Value::Unit(a), Value::Unit(b)) => a.divide(&b),
        (Value::Unit(unit), number @ (Value::Number(_) | Value::Complex(_))) => {
            Ok(unit.scaled(Scalar::of(&number)?, Scalar::div))
        }
        (number @ (Value::Number(_) | Value::Complex(_)), Value::Unit(unit)) => {
            unit.dividing(Scalar::of(&number)?)
        }
        (
            a @ (Value::Number(_) | Value::Complex(_)),
            b @ (Value::Number(_) | Value::Complex(_)),
        ) => Ok(Scalar::of(&a)?.div(Scalar::of(&b)?).into()),
        (Value::Number(_) | Value::Complex(_) | Value::Unit(_), other) => {
            unexpected("divideScalar", "number or Complex or Unit", &other, 1)
        }
        (other, _) => unexpected("divideScalar", "number or Complex or Unit", &other, 0),
    }
}

pub(crate) fn power(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    match (left, right) {
        (Value::Matrix(matrix), exponent) => power_matrix(matrix, exponent, context),
        (_, Value::Matrix(_)) => unexpected("pow", "number or Complex", right, 1),
        _ => power_scalar(left, right, context),
    }
}

pub(crate) fn power_scalar(left: &Value, right: &Value, _: &mut Context) -> Result<Value> {
    match paired("pow", left, right)? {
        (Value::Number(base), Value::Number(exponent)) => {
            if is_integer(exponent) || base >= 0.0 || base.is_nan() || !exponent.is_finite() {
                return Ok(Value::Number(number::power(base, exponent)));
            }
            Ok(complex::pow(base.into(), exponent.into()).into())
        }
        (Value::Unit(unit), Value::Number(exponent)) => Ok(unit.power(exponent)),
        (
            a @ (Value::Number(_) | Value::Complex(_)),
            b @ (Value::Number(_) | Value::Complex(_)),
        ) => Ok(complex::pow(Scalar::of(&a)?.complex(), Scalar::of(&b)?.complex()).into()),
        (Value::Number(_) | Value::Complex(_), other) => {
            unexpected("pow", "number or Complex", &other, 1)
        }
        (Value::Unit(_), other) => unexpected("pow", "number", &other, 1),
        (other, _) => unexpected("pow", "number or Complex or Unit or Matrix", &other, 0),
    }
}

fn power_matrix(matrix: &Matrix, exponent: &Value, context: &mut Context) -> Result<Value> {
    let Some(exponent) = exponent.as_number() else {
        return unexpected("pow", "number", exponent, 1);
    };
    if !is_integer(exponent) {
        return fail(format!("For A^b, b must be an integer (value is {})", to_text(exponent)));
    }
    let Some((rows, columns)) = matrix.rows_and_columns() else {
        return fail(format!(
            "For A^b, A must be 2 dimensional (A has {} dimensions)",
            matrix.size.len()
        ));
    };
    if rows != columns {
        return fail(format!("For A^b, A must be square (size is {rows}x{columns})"));
    }
    let mut square: Value = matrix.clone().into();
    if exponent < 0.0 {
        square = invert(&square, context)?;
    }
    let Some(mut left) = as_count(exponent.abs()) else { return fail("For A^b, b is too large") };
    let mut result: Value =
        Matrix::build(rows, rows, |row, column| Value::Number(f64::from(row == column))).into();
    while left > 0 {
        if left & 1 == 1 {
            result = multiply(&square, &result, context)?;
        }
        left >>= 1;
        if left > 0 {
            square = multiply(&square, &square, context)?;
        }
    }
    Ok(result)
}

const SINGULAR: &str = "Cannot calculate inverse, determinant is zero";

/// One divided by `value`, which may be a square matrix.
pub(crate) fn invert(value: &Value, context: &mut Context) -> Result<Value> {
    let one = Value::Number(1.0);
    let Value::Matrix(matrix) = value else { return divide_scalar(&one, value, context) };
    match matrix.size[..] {
        [1] => Ok(Value::vector(vec![divide_scalar(&one, &matrix.items[0], context)?])),
        [rows, columns] if rows == columns => match rows {
            1 if matrix.items[0].as_number() == Some(0.0) => fail(SINGULAR),
            1 => Ok(Matrix::new(vec![1, 1], vec![divide_scalar(&one, &matrix.items[0], context)?])
                .into()),
            2 => invert_two(matrix, context),
            _ => eliminate(matrix, rows, context),
        },
        [_] | [_, _] => fail(format!("Matrix must be square (size: {})", size_text(&matrix.size))),
        _ => fail(format!("Matrix must be two dimensional (size: {})", size_text(&matrix.size))),
    }
}

fn invert_two(matrix: &Matrix, context: &mut Context) -> Result<Value> {
    let [a, b, c, d] = &matrix.items[..] else { return fail(SINGULAR) };
    let (straight, across) = (multiply_scalar(a, d, context)?, multiply_scalar(c, b, context)?);
    let determinant = subtract(&straight, &across, context)?;
    if determinant.as_number() == Some(0.0) {
        return fail(SINGULAR);
    }
    let (minus_b, minus_c) = (unary_minus(b, context)?, unary_minus(c, context)?);
    let items: Result<Vec<_>> = [d, &minus_b, &minus_c, a]
        .into_iter()
        .map(|item| divide_scalar(item, &determinant, context))
        .collect();
    Ok(Matrix::new(vec![2, 2], items?).into())
}

/// Gauss-Jordan elimination with the largest pivot.
fn eliminate(matrix: &Matrix, rows: usize, context: &mut Context) -> Result<Value> {
    context.reserve(rows * rows)?;
    let mut left: Vec<Vec<Value>> = matrix.items.chunks(rows).map(<[Value]>::to_vec).collect();
    let identity =
        |row: usize| (0..rows).map(|column| Value::Number(f64::from(row == column))).collect();
    let mut right: Vec<Vec<Value>> = (0..rows).map(identity).collect();
    let size = |value: &Value| value.as_complex().map_or(0.0, complex::abs);
    for pivot in 0..rows {
        let mut largest = pivot;
        for row in pivot + 1..rows {
            if size(&left[row][pivot]) > size(&left[largest][pivot]) {
                largest = row;
            }
        }
        if size(&left[largest][pivot]) == 0.0 {
            return fail(SINGULAR);
        }
        left.swap(pivot, largest);
        right.swap(pivot, largest);
        for row in (0..rows).filter(|row| *row != pivot) {
            if left[row][pivot].as_number() == Some(0.0) {
                continue;
            }
            context.spend(4 * rows)?;
            let factor = divide_scalar(
                &unary_minus(&left[row][pivot], context)?,
                &left[pivot][pivot],
                context,
            )?;
            for side in [&mut left, &mut right] {
                let source = side[pivot].clone();
                for (item, pivotal) in side[row].iter_mut().zip(&source) {
                    let change = multiply_scalar(&factor, pivotal, context)?;
                    *item = add(item, &change, context)?;
                }
            }
        }
        let factor = left[pivot][pivot].clone();
        for side in [&mut left, &mut right] {
            for item in &mut side[pivot] {
                *item = divide_scalar(item, &factor, context)?;
            }
        }
    }
    Ok(Matrix::new(vec![rows, rows], right.into_iter().flatten().collect()).into())
}
