//! Linear algebra: determinants, products of vectors, norms.

use super::{
    arguments::{matrix, number},
    arithmetic::{abs, sqrt},
    complex::conjugate,
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    matrix::{Matrix, size_text},
    number::power,
    operators::{
        add, divide_scalar, equal_scalar, invert, larger, multiply, multiply_scalar, subtract,
        unary_minus, unexpected,
    },
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("det", 1, 1, |arguments, context| determinant(&arguments[0], context)),
    function("inv", 1, 1, |arguments, context| invert(&arguments[0], context)),
    function("trace", 1, 1, |arguments, context| trace(&arguments[0], context)),
    function("dot", 2, 2, dot),
    function("cross", 2, 2, cross),
    function("kron", 2, 2, kronecker),
    function("norm", 1, 2, norm),
    function("distance", 2, 3, distance),
    function("rotate", 2, 3, rotate),
    function("intersect", 4, 4, intersect),
];

fn square_size(matrix: &Matrix) -> Result<usize> {
    match matrix.size[..] {
        [rows, columns] if rows == columns => Ok(rows),
        [1] => Ok(1),
        [_] | [_, _] => fail(format!("Matrix must be square (size: {})", size_text(&matrix.size))),
        _ => fail(format!("Matrix must be two dimensional (size: {})", size_text(&matrix.size))),
    }
}

/// The determinant, by Bareiss' elimination, which keeps whole numbers whole.
fn determinant(value: &Value, context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = value else { return Ok(value.clone()) };
    if matrix.items.is_empty() {
        return Ok(Value::Number(1.0));
    }
    let n = square_size(matrix)?;
    let mut rows: Vec<Vec<Value>> = matrix.items.chunks(n).map(<[Value]>::to_vec).collect();
    if n == 2 {
        let (a, b) = (
            multiply(&rows[0][0], &rows[1][1], context)?,
            multiply(&rows[1][0], &rows[0][1], context)?,
        );
        return subtract(&a, &b, context);
    }
    let zero = Value::Number(0.0);
    let mut negated = false;
    let mut previous = Value::Number(1.0);
    for k in 0..n {
        if equal_scalar(&rows[k][k], &zero)? {
            let mut found = None;
            for (row, items) in rows.iter().enumerate().skip(k + 1) {
                if !equal_scalar(&items[k], &zero)? {
                    found = Some(row);
                    break;
                }
            }
            let Some(row) = found else { return Ok(rows[k][k].clone()) };
            rows.swap(k, row);
            negated = !negated;
        }
        for i in k + 1..n {
            context.spend(3 * (n - k))?;
            for j in k + 1..n {
                let (a, b) = (
                    multiply_scalar(&rows[i][j], &rows[k][k], context)?,
                    multiply_scalar(&rows[i][k], &rows[k][j], context)?,
                );
                rows[i][j] = divide_scalar(&subtract(&a, &b, context)?, &previous, context)?;
            }
        }
        previous = rows[k][k].clone();
    }
    if negated { unary_minus(&previous, context) } else { Ok(previous) }
}

fn trace(value: &Value, context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = value else { return Ok(value.clone()) };
    let n = square_size(matrix)?;
    context.spend(n)?;
    let diagonal = (0..n).map(|place| matrix.items[place * n + place].clone());
    diagonal.into_iter().try_fold(Value::Number(0.0), |sum, item| add(&sum, &item, context))
}

/// The items of a vector, which may lie in a matrix of one row or column.
fn vector(name: &str, arguments: &[Value], index: usize) -> Result<Vec<Value>> {
    let matrix = matrix(name, arguments, index)?;
    match matrix.size[..] {
        [_] | [_, 1] | [1, _] => Ok(matrix.items.clone()),
        _ => fail(format!(
            "Expected a column vector, instead got a matrix of size ({})",
            size_text(&matrix.size)
        )),
    }
}

fn dot(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (vector("dot", arguments, 0)?, vector("dot", arguments, 1)?);
    if a.len() != b.len() {
        return fail(format!("Vectors must have equal length ({} != {})", a.len(), b.len()));
    }
    if a.is_empty() {
        return fail("Cannot calculate the dot product of empty vectors");
    }
    context.spend(a.len())?;
    let mut sum: Option<Value> = None;
    for (a, b) in a.iter().zip(&b) {
        let a = if matches!(a, Value::Complex(_)) { conjugate(a, context)? } else { a.clone() };
        let product = multiply(&a, b, context)?;
        sum = Some(match sum {
            Some(sum) => add(&sum, &product, context)?,
            None => product,
        });
    }
    Ok(sum.unwrap_or(Value::Number(0.0)))
}

fn cross(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (matrix("cross", arguments, 0)?, matrix("cross", arguments, 1)?);
    let (x, y) = (&a.items, &b.items);
    if x.len() != 3 || y.len() != 3 {
        return fail(format!(
            "Vectors with length 3 expected (Size A = {}, B = {})",
            size_text(&a.size),
            size_text(&b.size)
        ));
    }
    let mut part = |i: usize, j: usize| {
        let (left, right) = (multiply(&x[i], &y[j], context)?, multiply(&x[j], &y[i], context)?);
        subtract(&left, &right, context)
    };
    let items = vec![part(1, 2)?, part(2, 0)?, part(0, 1)?];
    let flat = a.size.len() == 1 && b.size.len() == 1;
    Ok(Matrix::new(if flat { vec![3] } else { vec![1, 3] }, items).into())
}

fn kronecker(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (matrix("kron", arguments, 0)?, matrix("kron", arguments, 1)?);
    let flat = a.size.len() == 1 && b.size.len() == 1;
    let grid = |matrix: &Matrix| match matrix.size[..] {
        [length] => Ok((1, length)),
        [rows, columns] => Ok((rows, columns)),
        _ => fail("Vector with dimensions greater then 2 expected"),
    };
    let ((rows, columns), (inner_rows, inner_columns)) = (grid(&a)?, grid(&b)?);
    let size = vec![rows * inner_rows, columns * inner_columns];
    context.reserve_size(&size)?;
    let mut items = Vec::new();
    for row in 0..size[0] {
        for column in 0..size[1] {
            let outer = &a.items[(row / inner_rows) * columns + column / inner_columns];
            let inner = &b.items[(row % inner_rows) * inner_columns + column % inner_columns];
            items.push(multiply(outer, inner, context)?);
        }
    }
    Ok(Matrix::new(if flat { size[1..].to_vec() } else { size }, items).into())
}

fn norm(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = &arguments[0] else {
        if arguments.len() > 1 {
            return fail("Too many arguments in function norm (expected: 1, actual: 2)");
        }
        let scalar = arguments[0].coerced()?;
        if matches!(scalar, Value::Unit(_)) {
            return unexpected("norm", "number or Complex or Matrix", &scalar, 0);
        }
        return abs(&scalar, context);
    };
    context.spend(2 * matrix.items.len())?;
    let sizes: Result<Vec<Value>> = matrix.items.iter().map(|item| abs(item, context)).collect();
    let sizes = sizes?;
    match (matrix.size.len(), arguments.get(1)) {
        (1, None) => euclidean(&sizes, context),
        (1, Some(Value::Text(kind))) => match &**kind {
            "inf" => extreme(&sizes, true),
            "-inf" => extreme(&sizes, false),
            "fro" => euclidean(&sizes, context),
            other => fail(format!("Unsupported parameter value: {other}")),
        },
        (1, Some(_)) => match number("norm", arguments, 1)? {
            f64::INFINITY => extreme(&sizes, true),
            f64::NEG_INFINITY => extreme(&sizes, false),
            2.0 => euclidean(&sizes, context),
            0.0 => Ok(Value::Number(f64::INFINITY)),
            p => {
                let sum = sizes
                    .iter()
                    .filter_map(Value::as_number)
                    .fold(0.0, |sum, size| sum + power(size, p));
                Ok(Value::Number(power(sum, 1.0 / p)))
            }
        },
        (2, Some(Value::Text(kind))) if &**kind == "fro" => euclidean(&sizes, context),
        (2, Some(Value::Text(kind))) if &**kind == "inf" => largest_sum(matrix, &sizes, 0, context),
        (2, Some(Value::Number(f64::INFINITY))) => largest_sum(matrix, &sizes, 0, context),
        (2, Some(Value::Number(1.0))) => largest_sum(matrix, &sizes, 1, context),
        (2, None | Some(Value::Number(2.0))) => spectral(matrix, context),
        (2, _) => {
            fail("Unsupported parameter value for a matrix norm: use 1, 2, \"inf\" or \"fro\"")
        }
        _ => {
            fail(format!("Matrix must have 1 or 2 dimensions (size: {})", size_text(&matrix.size)))
        }
    }
}

fn euclidean(sizes: &[Value], context: &mut Context) -> Result<Value> {
    let mut sum = Value::Number(0.0);
    for (index, size) in sizes.iter().enumerate() {
        let square = multiply(size, size, context)?;
        sum = if index == 0 { square } else { add(&sum, &square, context)? };
    }
    sqrt(&sum)
}

fn extreme(sizes: &[Value], largest: bool) -> Result<Value> {
    let Some((first, rest)) = sizes.split_first() else { return Ok(Value::Number(0.0)) };
    let mut best = first;
    for size in rest {
        if larger(size, best)? == largest {
            best = size;
        }
    }
    Ok(best.clone())
}

/// The largest sum over rows (0) or columns (1).
fn largest_sum(
    matrix: &Matrix,
    sizes: &[Value],
    along: usize,
    context: &mut Context,
) -> Result<Value> {
    let grid = Matrix::new(matrix.size.clone(), sizes.to_vec());
    let (_, lines) = grid.slices(1 - along);
    let mut sums = Vec::new();
    for line in lines {
        sums.push(line.iter().try_fold(Value::Number(0.0), |sum, size| add(&sum, size, context))?);
    }
    extreme(&sums, true)
}

/// The largest singular value, by Jacobi rotations of the matrix times its transpose.
fn spectral(matrix: &Matrix, context: &mut Context) -> Result<Value> {
    const SWEEPS: usize = 60;
    let n = square_size(matrix)?;
    let rows: Result<Vec<f64>> =
        (0..matrix.items.len()).map(|index| number("norm", &matrix.items, index)).collect();
    let rows = rows?;
    context.spend(n.saturating_mul(n).saturating_mul(n))?;
    let inner =
        |i: usize, j: usize| (0..n).fold(0.0, |sum, k| sum + rows[k * n + i] * rows[k * n + j]);
    let mut square: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| inner(i, j)).collect()).collect();
    for _ in 0..SWEEPS {
        let mut changed = false;
        for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
            let scale = f64::EPSILON * (square[p][p] * square[q][q]).sqrt();
            if square[p][q].abs() > scale {
                context.spend(4 * n)?;
                turn(&mut square, p, q);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    Ok(Value::Number((0..n).fold(0.0f64, |largest, i| largest.max(square[i][i])).sqrt()))
}

/// Turns the plane of `p` and `q` so that they no longer mix in the symmetric matrix.
fn turn(square: &mut [Vec<f64>], p: usize, q: usize) {
    let ratio = (square[q][q] - square[p][p]) / (2.0 * square[p][q]);
    let tangent = (1.0 / (ratio.abs() + (ratio * ratio + 1.0).sqrt())).copysign(ratio);
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for row in square.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (upper, lower) = square.split_at_mut(q);
    for (above, below) in upper[p].iter_mut().zip(&mut lower[0]) {
        (*above, *below) = (cosine * *above - sine * *below, sine * *above + cosine * *below);
    }
}

/// The distance between two points.
fn distance(arguments: &[Value], context: &mut Context) -> Result<Value> {
    if arguments.len() != 2 {
        return fail("Invalid Arguments: Try again");
    }
    let (a, b) = (matrix("distance", arguments, 0)?, matrix("distance", arguments, 1)?);
    if a.items.len() != b.items.len() || a.size.len() != 1 || b.size.len() != 1 {
        return unexpected(
            "distance",
            "two points with the same number of coordinates",
            &arguments[1],
            1,
        );
    }
    let mut differences = Vec::new();
    for (a, b) in a.items.iter().zip(&b.items) {
        differences.push(subtract(a, b, context)?);
    }
    euclidean(&differences, context)
}

/// The vector turned by an angle, in the plane or around an axis.
fn rotate(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let Some(rotation) = super::builtin("rotationMatrix") else { return Ok(Value::Undefined) };
    let rotation = (rotation.run)(&arguments[1..], context)?;
    multiply(&rotation, &arguments[0], context)
}

/// Where two lines in the plane meet, each given by two points.
fn intersect(arguments: &[Value], _: &mut Context) -> Result<Value> {
    let mut points = Vec::new();
    for index in 0..4 {
        let point = vector("intersect", arguments, index)?;
        let [_, _] = point[..] else {
            return fail("intersect is supported for lines in the plane, given by points [x, y]");
        };
        points.push([number("intersect", &point, 0)?, number("intersect", &point, 1)?]);
    }
    let [[ax, ay], [bx, by], [cx, cy], [dx, dy]] = points[..] else { return Ok(Value::Null) };
    let (first, second) = ([ax - bx, ay - by], [cx - dx, cy - dy]);
    let determinant = first[0] * second[1] - second[0] * first[1];
    if determinant.abs() < 1e-12 {
        return Ok(Value::Null);
    }
    let along = (second[0] * ay - second[1] * ax - second[0] * cy + second[1] * cx) / determinant;
    Ok(Value::numbers([first[0] * along + ax, first[1] * along + ay]))
}
