//! Random numbers.

use super::{
    arguments::{count, matrix, number},
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    matrix::Matrix,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("random", 0, 3, |arguments, context| {
        drawn("random", arguments, context, |min, max, random| min + random * (max - min))
    }),
    function("randomInt", 0, 3, |arguments, context| {
        drawn("randomInt", arguments, context, |min, max, random| {
            (min + random * (max - min)).floor()
        })
    }),
    function("pickRandom", 1, 1, |arguments, context| {
        let items = &matrix("pickRandom", arguments, 0)?.items;
        if items.is_empty() {
            return fail("Cannot pick from an empty array");
        }
        let place = (context.random() * items.len() as f64) as usize;
        Ok(items[place.min(items.len() - 1)].clone())
    }),
];

/// One number, or a matrix of them, between bounds that default to 0 and 1.
fn drawn(
    name: &str,
    arguments: &[Value],
    context: &mut Context,
    draw: fn(f64, f64, f64) -> f64,
) -> Result<Value> {
    let (size, bounds) = match arguments {
        [Value::Matrix(size), bounds @ ..] => (Some(size), bounds),
        bounds => (None, bounds),
    };
    let whole = if name == "randomInt" { 2.0 } else { 1.0 };
    let (min, max) = match bounds {
        [] => (0.0, whole),
        [_] => (0.0, number(name, bounds, 0)?),
        _ => (number(name, bounds, 0)?, number(name, bounds, 1)?),
    };
    let Some(size) = size else { return Ok(Value::Number(draw(min, max, context.random()))) };
    let lengths: Result<Vec<usize>> = (0..size.items.len())
        .map(|index| count(number(name, &size.items, index)?, "The size must be positive integers"))
        .collect();
    let lengths = lengths?;
    context.reserve_size(&lengths)?;
    let items = (0..lengths.iter().product())
        .map(|_| Value::Number(draw(min, max, context.random())))
        .collect();
    Ok(Matrix::new(lengths, items).into())
}
