//! Making matrices, and turning them over.

use super::{
    ANY,
    arguments::{count, matrix, number, number_or},
    complex::conjugate,
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context, range},
    matrix::{Matrix, size_text},
    operators::{each, unexpected},
    parser::parse_number,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("zeros", 0, ANY, |arguments, context| filled("zeros", arguments, 0.0, context)),
    function("ones", 0, ANY, |arguments, context| filled("ones", arguments, 1.0, context)),
    function("identity", 0, 2, identity),
    function("diag", 1, 2, diagonal),
    function("range", 1, 4, range_of),
    function("matrix", 0, 3, |arguments, _| match arguments.first() {
        None => Ok(Value::vector(Vec::new())),
        Some(value @ Value::Matrix(_)) => Ok(value.clone()),
        Some(Value::Text(_)) => Ok(Value::vector(Vec::new())),
        Some(other) => unexpected("matrix", "Array or Matrix", other, 0),
    }),
    function("sparse", 1, 2, |arguments, _| Ok(Value::Matrix(matrix("sparse", arguments, 0)?))),
    function("size", 1, 1, |arguments, _| size(&arguments[0])),
    function("transpose", 1, 1, |arguments, context| {
        let Value::Matrix(matrix) = &arguments[0] else {
            return Ok(arguments[0].clone());
        };
        context.reserve(matrix.items.len())?;
        Ok(matrix.transposed()?.into())
    }),
    function("ctranspose", 1, 1, |arguments, context| conjugate_transpose(&arguments[0], context)),
    function("matrixFromRows", 1, ANY, |arguments, context| {
        from_vectors("matrixFromRows", arguments, context)
    }),
    function("matrixFromColumns", 1, ANY, |arguments, context| {
        match from_vectors("matrixFromColumns", arguments, context)? {
            Value::Matrix(rows) => Ok(rows.transposed()?.into()),
            other => Ok(other),
        }
    }),
    function("rotationMatrix", 0, 2, rotation),
];

/// A size from a list of lengths, given one by one or as one vector.
fn size_from(name: &str, arguments: &[Value]) -> Result<Vec<usize>> {
    let lengths = match arguments {
        [Value::Matrix(lengths)] | [Value::Matrix(lengths), Value::Text(_)]
            if lengths.size.len() == 1 =>
        {
            &lengths.items[..]
        }
        lengths => lengths,
    };
    let lengths = match lengths {
        [lengths @ .., Value::Text(storage)] => match &**storage {
            "dense" | "sparse" | "default" => lengths,
            other => return fail(format!("Unknown matrix type \"{other}\".")),
        },
        lengths => lengths,
    };
    let message = format!("Parameters in function {name} must be positive integers");
    (0..lengths.len()).map(|index| count(number(name, lengths, index)?, &message)).collect()
}

fn filled(name: &str, arguments: &[Value], value: f64, context: &mut Context) -> Result<Value> {
    let size = size_from(name, arguments)?;
    if size.is_empty() {
        return Ok(Value::vector(Vec::new()));
    }
    context.reserve_size(&size)?;
    let count = size.iter().product();
    Ok(Matrix::new(size, vec![Value::Number(value); count]).into())
}

fn identity(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let size = size_from("identity", arguments)?;
    let (rows, columns) = match size[..] {
        [] => return Ok(Value::vector(Vec::new())),
        [rows] => (rows, rows),
        [rows, columns] => (rows, columns),
        _ => return fail("Vector containing two values expected"),
    };
    if rows == 0 || columns == 0 {
        return fail("Parameters in function identity must be positive integers");
    }
    context.reserve_size(&[rows, columns])?;
    Ok(Matrix::build(rows, columns, |row, column| Value::Number(f64::from(row == column))).into())
}

fn diagonal(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let values = matrix("diag", arguments, 0)?;
    let offset = number_or("diag", arguments, 1, 0.0)?;
    let (down, right) =
        match count(offset.abs(), "Second parameter in function diag must be an integer")? {
            places if offset < 0.0 => (places, 0),
            places => (0, places),
        };
    match values.size[..] {
        [length] => {
            let (rows, columns) = (length.saturating_add(down), length.saturating_add(right));
            context.reserve_size(&[rows, columns])?;
            let item = |row: usize, column: usize| match row.checked_sub(down) {
                Some(place) if column.checked_sub(right) == Some(place) => {
                    values.items[place].clone()
                }
                _ => Value::Number(0.0),
            };
            Ok(Matrix::build(rows, columns, item).into())
        }
        [rows, columns] => {
            let length = rows.saturating_sub(down).min(columns.saturating_sub(right));
            Ok(Value::vector(
                (0..length).map(|place| values.at(place + down, place + right).clone()).collect(),
            ))
        }
        _ => fail(format!(
            "Matrix must be a vector or two dimensional (size: {})",
            size_text(&values.size)
        )),
    }
}

fn range_of(arguments: &[Value], context: &mut Context) -> Result<Value> {
    if let Value::Text(text) = &arguments[0] {
        let parts: Result<Vec<f64>> = text.split(':').map(parse_number).collect();
        return match parts.ok().as_deref() {
            Some([start, end]) => range(*start, *end, 1.0, true, context),
            Some([start, step, end]) => range(*start, *end, *step, true, context),
            _ => fail(format!("String \"{text}\" is no valid range")),
        };
    }
    if arguments.len() < 2 {
        return fail("Too few arguments in function range (expected: number, index: 1)");
    }
    let (start, end) = (number("range", arguments, 0)?, number("range", arguments, 1)?);
    let (step, include_end) = match arguments.get(2) {
        Some(Value::Boolean(include)) => (1.0, *include),
        Some(_) => (
            number("range", arguments, 2)?,
            !matches!(arguments.get(3), Some(Value::Boolean(false))),
        ),
        None => (1.0, true),
    };
    range(start, end, step, include_end, context)
}

fn size(value: &Value) -> Result<Value> {
    let size = match value {
        Value::Matrix(matrix) => matrix.size.clone(),
        Value::Text(text) => vec![text.encode_utf16().count()], // bounded by the longest text
        Value::Number(_) | Value::Complex(_) | Value::Unit(_) | Value::Boolean(_) | Value::Null => {
            Vec::new()
        }
        other => {
            return unexpected(
                "size",
                "number or Complex or Unit or string or Array or Matrix",
                other,
                0,
            );
        }
    };
    Ok(Value::numbers(size.into_iter().map(|length| length as f64)))
}

/// The transpose with every item conjugated.
pub(crate) fn conjugate_transpose(value: &Value, context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = value else {
        return conjugate(value, context);
    };
    context.reserve(matrix.items.len())?;
    let transposed = matrix.transposed()?;
    each(&transposed.into(), context, |item, context| match item {
        Value::Complex(_) => conjugate(item, context),
        other => Ok(other.clone()),
    })
}

fn from_vectors(name: &str, arguments: &[Value], context: &mut Context) -> Result<Value> {
    let vectors = match arguments {
        [Value::Matrix(list)] if list.size.len() == 2 => list.parts(),
        vectors => vectors.to_vec(),
    };
    let mut rows = Vec::new();
    for index in 0..vectors.len() {
        let vector = matrix(name, &vectors, index)?;
        context.reserve(vector.items.len())?;
        let flat = vector.size.iter().filter(|length| **length != 1).count() <= 1;
        if !flat {
            return fail(format!(
                "The vectors had different length or shape {}",
                size_text(&vector.size)
            ));
        }
        rows.push(Value::vector(vector.items.clone()));
    }
    Ok(Matrix::stack(rows)?.into())
}

fn rotation(arguments: &[Value], _: &mut Context) -> Result<Value> {
    let angle = match arguments.first() {
        None => return Ok(Value::vector(Vec::new())),
        Some(Value::Unit(unit)) => unit.value.map_or(Value::Null, Value::from),
        Some(other) => other.coerced()?,
    };
    let Value::Number(angle) = angle else {
        return unexpected("rotationMatrix", "number or Unit", &angle, 0);
    };
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    if arguments.len() == 1 {
        let items = [cosine, -sine, sine, cosine].map(Value::Number).to_vec();
        return Ok(Matrix::new(vec![2, 2], items).into());
    }
    let axis = matrix("rotationMatrix", arguments, 1)?;
    let parts: Result<Vec<f64>> =
        (0..axis.items.len()).map(|index| number("rotationMatrix", &axis.items, index)).collect();
    let [x, y, z] = parts?[..] else {
        return fail("RotationMatrix: axis must be a vector of three numbers");
    };
    let length = (x * x + y * y + z * z).sqrt();
    if length == 0.0 {
        return fail("Rotation around zero vector");
    }
    let (x, y, z) = (x / length, y / length, z / length);
    let rest = 1.0 - cosine;
    let items = [
        cosine + x * x * rest,
        x * y * rest - z * sine,
        x * z * rest + y * sine,
        x * y * rest + z * sine,
        cosine + y * y * rest,
        y * z * rest - x * sine,
        x * z * rest - y * sine,
        y * z * rest + x * sine,
        cosine + z * z * rest,
    ];
    Ok(Matrix::new(vec![3, 3], items.map(Value::Number).to_vec()).into())
}
