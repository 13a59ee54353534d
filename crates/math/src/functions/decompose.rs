//! Systems of linear equations, by decomposition into triangles.

use std::rc::Rc;

use super::{arguments::matrix, arithmetic::abs, function};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    matrix::{Matrix, size_text},
    operators::{add, divide_scalar, equal_scalar, larger, multiply_scalar, subtract},
    value::{Object, Value},
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("lsolve", 2, 2, |arguments, context| {
        let (rows, right) = system("lsolve", arguments, context)?;
        column(substitute(&rows, right, true, context)?)
    }),
    function("usolve", 2, 2, |arguments, context| {
        let (rows, right) = system("usolve", arguments, context)?;
        column(substitute(&rows, right, false, context)?)
    }),
    function("lusolve", 2, 2, |arguments, context| {
        let (rows, right) = system("lusolve", arguments, context)?;
        let (lower, upper, order) = decompose(rows, context)?;
        let right = order.iter().map(|row| right[*row].clone()).collect();
        let between = substitute(&lower, right, true, context)?;
        column(substitute(&upper, between, false, context)?)
    }),
    function("lup", 1, 1, |arguments, context| {
        let matrix = matrix("lup", arguments, 0)?;
        let (lower, upper, order) = decompose(square(&matrix)?, context)?;
        let mut places = vec![0.0; order.len()];
        for (place, row) in order.iter().enumerate() {
            places[*row] = place as f64;
        }
        let grid = |rows: Rows| {
            Matrix::new(vec![rows.len(), rows.len()], rows.into_iter().flatten().collect()).into()
        };
        let parts: [(&str, Value); 3] =
            [("L", grid(lower)), ("U", grid(upper)), ("p", Value::numbers(places))];
        let object: Object = parts.into_iter().map(|(key, value)| (key.into(), value)).collect();
        Ok(Value::Object(Rc::new(object)))
    }),
];

type Rows = Vec<Vec<Value>>;

fn square(matrix: &Matrix) -> Result<Rows> {
    match matrix.size[..] {
        [rows, columns] if rows == columns && rows > 0 => {
            Ok(matrix.items.chunks(rows).map(<[Value]>::to_vec).collect())
        }
        _ => fail(format!("Matrix must be square (size: {})", size_text(&matrix.size))),
    }
}

/// The rows of the matrix and the right side of the equations.
fn system(name: &str, arguments: &[Value], context: &mut Context) -> Result<(Rows, Vec<Value>)> {
    let (left, right) = (matrix(name, arguments, 0)?, matrix(name, arguments, 1)?);
    let rows = square(&left)?;
    context.spend(left.items.len() * 2)?;
    let is_column = matches!(right.size[..], [_] | [_, 1]);
    if !is_column || right.items.len() != rows.len() {
        return fail("Dimension mismatch. Matrix columns must match vector length.");
    }
    Ok((rows, right.items.clone()))
}

fn column(values: Vec<Value>) -> Result<Value> {
    Ok(Matrix::new(vec![values.len(), 1], values).into())
}

/// Solves a triangular system, from the top or from the bottom.
fn substitute(
    rows: &Rows,
    mut right: Vec<Value>,
    from_top: bool,
    context: &mut Context,
) -> Result<Vec<Value>> {
    let n = rows.len();
    let zero = Value::Number(0.0);
    let mut solution = vec![zero.clone(); n];
    for step in 0..n {
        let j = if from_top { step } else { n - 1 - step };
        if equal_scalar(&right[j], &zero)? {
            continue;
        }
        if equal_scalar(&rows[j][j], &zero)? {
            return fail("Linear system cannot be solved since matrix is singular");
        }
        solution[j] = divide_scalar(&right[j], &rows[j][j], context)?;
        context.spend(n)?;
        let rest = if from_top { j + 1..n } else { 0..j };
        for i in rest {
            let known = multiply_scalar(&solution[j], &rows[i][j], context)?;
            right[i] = subtract(&right[i], &known, context)?;
        }
    }
    Ok(solution)
}

/// Lower and upper triangles and the order of rows, with the largest pivots.
fn decompose(mut rows: Rows, context: &mut Context) -> Result<(Rows, Rows, Vec<usize>)> {
    let n = rows.len();
    let zero = Value::Number(0.0);
    let mut order: Vec<usize> = (0..n).collect();
    for j in 0..n {
        for i in 0..n {
            context.spend(i.min(j) + 1)?;
            let mut sum = zero.clone();
            for (k, row) in rows.iter().enumerate().take(i.min(j)) {
                let product = multiply_scalar(&rows[i][k], &row[j], context)?;
                sum = add(&sum, &product, context)?;
            }
            if j > 0 {
                rows[i][j] = subtract(&rows[i][j], &sum, context)?;
            }
        }
        let (mut pivot, mut largest) = (j, zero.clone());
        for (i, row) in rows.iter().enumerate().skip(j) {
            let size = abs(&row[j], context)?;
            if larger(&size, &largest)? {
                (pivot, largest) = (i, size);
            }
        }
        rows.swap(j, pivot);
        order.swap(j, pivot);
        let divisor = rows[j][j].clone();
        for row in rows.iter_mut().skip(j + 1) {
            if !equal_scalar(&row[j], &zero)? {
                row[j] = divide_scalar(&row[j], &divisor, context)?;
            }
        }
    }
    let part = |keep: fn(usize, usize) -> bool, diagonal: Option<f64>| -> Rows {
        let item = |i: usize, j: usize| match diagonal {
            Some(one) if i == j => Value::Number(one),
            _ if keep(i, j) => rows[i][j].clone(),
            _ => Value::Number(0.0),
        };
        (0..n).map(|i| (0..n).map(|j| item(i, j)).collect()).collect()
    };
    Ok((part(|i, j| i > j, Some(1.0)), part(|i, j| i <= j, None), order))
}
