//! Lifts operations on scalars to matrices.

use crate::{
    error::{Result, fail},
    evaluate::Context,
    functions::parse_complex,
    matrix::Matrix,
    value::Value,
};

/// Applies `operation` to `value`, or to each item of a matrix.
pub(crate) fn each(
    value: &Value,
    context: &mut Context,
    operation: fn(&Value, &mut Context) -> Result<Value>,
) -> Result<Value> {
    let Value::Matrix(matrix) = value else { return operation(value, context) };
    context.reserve(matrix.items.len())?;
    let items: Result<Vec<_>> = matrix.items.iter().map(|item| operation(item, context)).collect();
    Ok(Matrix::new(matrix.size.clone(), items?).into())
}

/// Applies `operation` to two values, item by item where they are matrices; lengths of one are stretched.
pub(crate) fn binary(
    name: &str,
    left: &Value,
    right: &Value,
    context: &mut Context,
    operation: impl Fn(&Value, &Value, &mut Context) -> Result<Value>,
) -> Result<Value> {
    let result = match (left, right) {
        (Value::Matrix(left), Value::Matrix(right)) => {
            return pairs(left, right, context, operation);
        }
        (Value::Matrix(matrix), scalar) => {
            context.reserve(matrix.items.len())?;
            let items: Result<Vec<_>> =
                matrix.items.iter().map(|item| operation(item, scalar, context)).collect();
            Matrix::new(matrix.size.clone(), items?)
        }
        (scalar, Value::Matrix(matrix)) => {
            context.reserve(matrix.items.len())?;
            let items: Result<Vec<_>> =
                matrix.items.iter().map(|item| operation(scalar, item, context)).collect();
            Matrix::new(matrix.size.clone(), items?)
        }
        (left, right) => {
            for (place, value) in [left, right].into_iter().enumerate() {
                if matches!(
                    value,
                    Value::Object(_) | Value::Function(_) | Value::Results(_) | Value::Index(_)
                ) {
                    return unexpected(name, "number or Complex or Unit or Matrix", value, place);
                }
            }
            return operation(left, right, context);
        }
    };
    Ok(result.into())
}

fn pairs(
    left: &Matrix,
    right: &Matrix,
    context: &mut Context,
    operation: impl Fn(&Value, &Value, &mut Context) -> Result<Value>,
) -> Result<Value> {
    let dimensions = left.size.len().max(right.size.len());
    let (left_size, right_size) =
        (aligned(&left.size, dimensions), aligned(&right.size, dimensions));
    let mut size = Vec::new();
    for (dimension, (a, b)) in left_size.iter().zip(&right_size).enumerate() {
        let longest = *a.max(b);
        for (length, matrix) in [(a, left), (b, right)] {
            if *length != longest && *length != 1 {
                return mismatch(matrix, dimension + 1, *length, longest);
            }
        }
        size.push(if *a == 1 { *b } else { *a });
    }
    context.reserve_size(&size)?;
    let count: usize = size.iter().product();
    let mut items = Vec::with_capacity(count);
    for place in 0..count {
        let a = &left.items[offset(place, &size, &left_size)];
        let b = &right.items[offset(place, &size, &right_size)];
        items.push(operation(a, b, context)?);
    }
    Ok(Matrix::new(size, items).into())
}

fn aligned(size: &[usize], dimensions: usize) -> Vec<usize> {
    let mut aligned = vec![1; dimensions - size.len()];
    aligned.extend(size);
    aligned
}

/// Where the item at `place` of a matrix of `size` comes from in one of size `own`.
fn offset(place: usize, size: &[usize], own: &[usize]) -> usize {
    let (mut rest, mut offset, mut scale) = (place, 0, 1);
    for (length, own_length) in size.iter().zip(own).rev() {
        if *own_length != 1 {
            offset += (rest % length) * scale;
        }
        rest /= length;
        scale *= own_length;
    }
    offset
}

fn mismatch(matrix: &Matrix, dimension: usize, from: usize, to: usize) -> Result<Value> {
    let shape = matrix.size.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    fail(format!(
        "shape mismatch: mismatch is found in arg with shape ({shape}) not possible to broadcast dimension {dimension} with size {from} to size {to}"
    ))
}

/// The error for an argument of the wrong type.
pub(crate) fn unexpected<T>(
    function: &str,
    expected: &str,
    actual: &Value,
    index: usize,
) -> Result<T> {
    let actual = actual.type_name();
    fail(format!(
        "Unexpected type of argument in function {function} (expected: {expected}, actual: {actual}, index: {index})"
    ))
}

/// Two scalars as numbers or quantities: booleans and text become what the other side can be combined with.
pub(crate) fn paired(function: &str, left: &Value, right: &Value) -> Result<(Value, Value)> {
    match (left, right) {
        (Value::Complex(_), Value::Boolean(_)) => {
            unexpected(function, "Complex or number", right, 1)
        }
        (Value::Boolean(_), Value::Complex(_)) => unexpected(function, "number", right, 1),
        (Value::Complex(_), Value::Text(text)) => Ok((left.clone(), parse_complex(text)?)),
        (Value::Text(text), Value::Complex(_)) => Ok((parse_complex(text)?, right.clone())),
        _ => Ok((left.coerced()?, right.coerced()?)),
    }
}
