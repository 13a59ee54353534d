//! Sums, products, extremes and counts of lists.

use super::{
    ANY,
    arguments::{dimension, items, matrix, number},
    function,
    statistics::along,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    matrix::Matrix,
    operators::{add, larger, multiply, smaller, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("min", 1, ANY, |arguments, context| {
        along("min", arguments, context, |items, context| extreme("min", items, context, smaller))
    }),
    function("max", 1, ANY, |arguments, context| {
        along("max", arguments, context, |items, context| extreme("max", items, context, larger))
    }),
    function("sum", 1, ANY, |arguments, context| along("sum", arguments, context, sum)),
    function("prod", 1, ANY, |arguments, context| product(&items("prod", arguments)?, context)),
    function("cumsum", 1, ANY, cumulative_sum),
    function("count", 1, 1, count),
    function("kldivergence", 2, 2, divergence),
];

fn extreme(
    name: &str,
    items: &[Value],
    context: &mut Context,
    beats: fn(&Value, &Value) -> Result<bool>,
) -> Result<Value> {
    context.spend(items.len())?;
    let Some((first, rest)) = items.split_first() else {
        return fail(format!("Cannot calculate {name} of an empty array"));
    };
    let mut best = first;
    for item in rest {
        if matches!((best, item), (Value::Complex(_), _) | (_, Value::Complex(_))) {
            return fail(format!(
                "Cannot calculate {name}, no ordering relation is defined for complex numbers"
            ));
        }
        if matches!(item, Value::Number(number) if number.is_nan()) || beats(item, best)? {
            best = item;
        }
    }
    match best {
        Value::Text(_) => best.coerced(),
        Value::Null | Value::Undefined => unexpected(name, "number or Unit", best, 0),
        _ => Ok(best.clone()),
    }
}

fn sum(items: &[Value], context: &mut Context) -> Result<Value> {
    context.spend(items.len())?;
    if let [only @ Value::Boolean(_)] = items {
        return Ok(only.clone());
    }
    let Some((first, rest)) = items.split_first() else { return Ok(Value::Number(0.0)) };
    let first = match first {
        Value::Text(text) => Value::Number(crate::parser::parse_number(text)?),
        Value::Null | Value::Undefined => {
            return unexpected("sum", "number or Complex or Unit", first, 0);
        }
        other => other.coerced()?,
    };
    rest.iter().try_fold(first, |sum, item| add(&sum, item, context))
}

fn product(items: &[Value], context: &mut Context) -> Result<Value> {
    context.spend(items.len())?;
    if let [only @ Value::Boolean(_)] = items {
        return Ok(only.clone());
    }
    let Some((first, rest)) = items.split_first() else {
        return fail("Cannot calculate prod of an empty array");
    };
    rest.iter().try_fold(first.coerced()?, |product, item| multiply(&product, item, context))
}

fn cumulative_sum(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let matrix = match arguments {
        [Value::Matrix(matrix), ..] => matrix.clone(),
        _ => std::rc::Rc::new(Matrix::vector(items("cumsum", arguments)?)),
    };
    let dimension = match arguments {
        [Value::Matrix(_), _] => dimension("cumsum", arguments, 1, &matrix)?,
        _ => 0,
    };
    context.reserve(matrix.items.len())?;
    let after: usize = matrix.size[dimension + 1..].iter().product();
    let length = matrix.size[dimension];
    let mut result = Matrix::clone(&matrix);
    for place in 0..result.items.len() {
        let first = (place / after.max(1)).is_multiple_of(length.max(1));
        result.items[place] = match first {
            true => result.items[place].coerced()?,
            false => add(&result.items[place - after], &result.items[place], context)?,
        };
    }
    Ok(result.into())
}

fn count(arguments: &[Value], _: &mut Context) -> Result<Value> {
    match &arguments[0] {
        Value::Matrix(matrix) => Ok(Value::Number(matrix.items.len() as f64)),
        Value::Text(text) => Ok(Value::Number(text.encode_utf16().count() as f64)),
        other => unexpected("count", "string or Matrix or Array", other, 0),
    }
}

/// The Kullback-Leibler divergence of two distributions, which need not add up to one.
fn divergence(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let mut shares = Vec::new();
    for index in 0..2 {
        let list = matrix("kldivergence", arguments, index)?;
        if list.size.len() > 1 {
            return fail("Both objects must be one dimensional in function kldivergence");
        }
        context.spend(list.items.len())?;
        let numbers: Result<Vec<f64>> =
            (0..list.items.len()).map(|place| number("kldivergence", &list.items, place)).collect();
        let numbers = numbers?;
        let total = numbers.iter().fold(0.0, |sum, item| sum + item);
        if total == 0.0 {
            return fail("Sum of elements must be non zero in function kldivergence");
        }
        shares.push(numbers.into_iter().map(|item| item / total).collect::<Vec<_>>());
    }
    if shares[0].len() != shares[1].len() {
        return fail("Length of two vectors must be equal");
    }
    let terms = shares[0].iter().zip(&shares[1]).map(|(q, p)| q * libm::log(q / p));
    Ok(Value::Number(terms.fold(0.0, |sum, term| sum + term)))
}
