//! Changing the shape of matrices, joining them, and picking parts by function.

use super::{
    ANY,
    arguments::{count, dimension, matrix, number},
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context, replace_subset, resized, subset, zero_based},
    matrix::Matrix,
    operators::{subtract, unexpected},
    value::{Positions, Value},
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("reshape", 2, 2, reshape),
    function("resize", 2, 3, resize),
    function("flatten", 1, 1, |arguments, context| {
        let grid = matrix("flatten", arguments, 0)?;
        context.reserve(grid.items.len())?;
        Ok(Value::vector(grid.items.clone()))
    }),
    function("squeeze", 1, 1, |arguments, context| squeeze(&arguments[0], context)),
    function("concat", 1, ANY, concat),
    function("row", 2, 2, |arguments, context| line("row", arguments, 0, context)),
    function("column", 2, 2, |arguments, context| line("column", arguments, 1, context)),
    function("index", 0, ANY, |arguments, context| {
        for argument in arguments {
            if let Value::Matrix(places) = argument {
                context.spend(places.items.len())?;
            }
        }
        let positions: Result<Vec<_>> = arguments.iter().map(zero_based).collect();
        Ok(Value::Index(std::rc::Rc::new(positions?)))
    }),
    function("subset", 2, 4, subset_of),
    function("diff", 1, 2, differences),
];

fn lengths(name: &str, arguments: &[Value], context: &mut Context) -> Result<Vec<f64>> {
    let lengths = matrix(name, arguments, 1)?;
    context.spend(lengths.items.len())?;
    (0..lengths.items.len()).map(|index| number(name, &lengths.items, index)).collect()
}

fn reshape(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let matrix = matrix("reshape", arguments, 0)?;
    let lengths = lengths("reshape", arguments, context)?;
    let have = matrix.items.len();
    let known: f64 = lengths.iter().filter(|length| **length != -1.0).product();
    let mut size = Vec::new();
    for length in lengths {
        // -1 stands for the length that follows from the others.
        let length = if length == -1.0 { have as f64 / known } else { length };
        size.push(count(length, "Could not replace wildcard or invalid size in function reshape")?);
    }
    context.reserve_size(&size)?;
    let wanted: usize = size.iter().product();
    if wanted != have {
        return fail(format!("Dimension mismatch ({wanted} != {have})"));
    }
    Ok(Matrix::new(size, matrix.items.clone()).into())
}

fn resize(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let lengths = lengths("resize", arguments, context)?;
    let size: Result<Vec<usize>> = lengths
        .into_iter()
        .map(|length| count(length, "Invalid size, must contain positive integers"))
        .collect();
    let size = size?;
    context.reserve_size(&size)?;
    match &arguments[0] {
        Value::Text(text) => {
            context.reserve_text(size.iter().copied().max().unwrap_or(0))?;
            resize_text(text, &size, arguments.get(2))
        }
        Value::Matrix(matrix) => {
            if size.is_empty() {
                return Ok(matrix.items.first().cloned().unwrap_or(Value::Undefined));
            }
            if size.len() < matrix.size.len() {
                let first = matrix.size[size.len()..].iter().try_fold(
                    Value::Matrix(matrix.clone()),
                    |value, _| match value {
                        Value::Matrix(matrix) => matrix.parts().into_iter().next(),
                        _ => None,
                    },
                );
                return match first {
                    Some(Value::Matrix(first)) => {
                        Ok(resized(&first, &size, &filler(arguments), context)?.into())
                    }
                    _ => fail("Cannot resize an empty matrix"),
                };
            }
            Ok(resized(matrix, &size, &filler(arguments), context)?.into())
        }
        scalar if size.is_empty() => Ok(scalar.clone()),
        scalar => {
            Ok(resized(&Matrix::vector(vec![scalar.clone()]), &size, &filler(arguments), context)?
                .into())
        }
    }
}

fn filler(arguments: &[Value]) -> Value {
    arguments.get(2).cloned().unwrap_or(Value::Number(0.0))
}

fn resize_text(text: &str, size: &[usize], filler: Option<&Value>) -> Result<Value> {
    let [length] = size else { return fail(format!("Dimension mismatch ({} != 1)", size.len())) };
    let filler = match filler {
        None => ' ',
        Some(Value::Text(filler)) if filler.chars().count() == 1 => {
            filler.chars().next().unwrap_or(' ')
        }
        Some(_) => return fail("Single character expected as defaultValue"),
    };
    let characters = text.chars().chain(std::iter::repeat(filler)).take(*length);
    Ok(Value::text(characters.collect::<String>()))
}

fn squeeze(value: &Value, context: &mut Context) -> Result<Value> {
    let Value::Matrix(matrix) = value else { return Ok(value.clone()) };
    context.reserve(matrix.items.len())?;
    let size: Vec<usize> = matrix.size.iter().copied().filter(|length| *length != 1).collect();
    Ok(match (size.is_empty(), matrix.items.first()) {
        (true, Some(item)) => item.clone(),
        _ => Matrix::new(size, matrix.items.clone()).into(),
    })
}

fn concat(arguments: &[Value], context: &mut Context) -> Result<Value> {
    if arguments.iter().all(|argument| matches!(argument, Value::Text(_))) {
        let mut joined = String::new();
        for argument in arguments {
            let Value::Text(text) = argument else { continue };
            context.reserve_text(joined.len() + text.len())?;
            joined.push_str(text);
        }
        return Ok(Value::text(joined));
    }
    let first = matrix("concat", arguments, 0)?;
    let (arguments, dimension) = match arguments {
        [rest @ .., Value::Number(_)] => {
            (rest, dimension("concat", arguments, arguments.len() - 1, &first)?)
        }
        all => (all, first.size.len() - 1),
    };
    let mut size = first.size.clone();
    size[dimension] = 0;
    let mut parts = Vec::new();
    for index in 0..arguments.len() {
        let part = matrix("concat", arguments, index)?;
        if part.size.len() != size.len() {
            return fail(format!("Dimension mismatch ({} != {})", size.len(), part.size.len()));
        }
        for (place, (a, b)) in first.size.iter().zip(&part.size).enumerate() {
            if place != dimension && a != b {
                return fail(format!("Dimension mismatch ({a} != {b})"));
            }
        }
        size[dimension] += part.size[dimension];
        parts.push(part);
    }
    context.reserve_size(&size)?;
    let outer: usize = size[..dimension].iter().product();
    let mut items = Vec::new();
    for place in 0..outer {
        for part in &parts {
            let length: usize = part.size[dimension..].iter().product();
            items.extend_from_slice(&part.items[place * length..(place + 1) * length]);
        }
    }
    Ok(Matrix::new(size, items).into())
}

/// A row or column, still as a matrix.
fn line(name: &str, arguments: &[Value], along: usize, context: &mut Context) -> Result<Value> {
    let grid = matrix(name, arguments, 0)?;
    if grid.size.len() != 2 {
        return fail("Only two dimensional matrix is supported");
    }
    let place = vec![number(name, arguments, 1)? - 1.0];
    let all = (0..grid.size[1 - along]).map(|place| place as f64).collect();
    let positions = if along == 0 { [place, all] } else { [all, place] };
    subset(&arguments[0], &positions.map(Positions::Many), context)
}

fn subset_of(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let Value::Index(positions) = &arguments[1] else {
        return unexpected("subset", "Index", &arguments[1], 1);
    };
    match arguments.get(2) {
        None => subset(&arguments[0], positions, context),
        Some(new) => {
            let filler = arguments.get(3).cloned().unwrap_or(Value::Number(0.0));
            replace_subset(&arguments[0], positions, new.clone(), &filler, context)
        }
    }
}

/// Differences between neighbours along a dimension.
fn differences(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let grid = matrix("diff", arguments, 0)?;
    let along = if arguments.len() > 1 { dimension("diff", arguments, 1, &grid)? } else { 0 };
    context.reserve(grid.items.len())?;
    let mut size = grid.size.clone();
    if size[along] < 2 {
        return Ok(Value::vector(Vec::new()));
    }
    size[along] -= 1;
    let after: usize = size[along + 1..].iter().product();
    let length = grid.size[along];
    let mut items = Vec::new();
    for (place, item) in grid.items.iter().enumerate() {
        if !(place / after).is_multiple_of(length) {
            items.push(subtract(item, &grid.items[place - after], context)?);
        }
    }
    Ok(Matrix::new(size, items).into())
}
