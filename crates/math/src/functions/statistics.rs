//! Statistics of lists: means, medians, spread and correlation.

use std::cmp::Ordering;

use super::{
    ANY,
    arguments::{dimension, items, matrix, number, text},
    arithmetic::sqrt,
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    matrix::Matrix,
    number::is_integer,
    operators::{add, compare, divide, each, multiply, subtract, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("mean", 1, ANY, |arguments, context| along("mean", arguments, context, mean)),
    function("median", 1, ANY, |arguments, context| median(&items("median", arguments)?, context)),
    function("mode", 1, ANY, |arguments, context| mode(&items("mode", arguments)?, context)),
    function("variance", 1, ANY, variance),
    function("std", 1, ANY, |arguments, context| {
        let variance = variance(arguments, context)?;
        each(&variance, context, |value, _| sqrt(value))
    }),
    function("mad", 1, ANY, median_deviation),
    function("quantileSeq", 2, 4, quantiles),
    function("corr", 2, 2, correlation),
];

/// Applies `summary` to all arguments, or along the dimension given beside a matrix.
pub(super) fn along(
    name: &str,
    arguments: &[Value],
    context: &mut Context,
    summary: impl Fn(&[Value], &mut Context) -> Result<Value>,
) -> Result<Value> {
    let ([Value::Matrix(matrix), Value::Number(_)], true) = (arguments, arguments.len() == 2)
    else {
        return summary(&items(name, arguments)?, context);
    };
    let dimension = dimension(name, arguments, 1, matrix)?;
    context.reserve(matrix.items.len())?;
    let (size, slices) = matrix.slices(dimension);
    let values: Result<Vec<_>> = slices.iter().map(|slice| summary(slice, context)).collect();
    let values = values?;
    if size.is_empty() {
        return Ok(values.into_iter().next().unwrap_or(Value::Undefined));
    }
    Ok(Matrix::new(size, values).into())
}

/// The sum of `items`, which are not empty.
fn total(items: &[Value], context: &mut Context) -> Result<Value> {
    context.spend(items.len())?;
    let first = items[0].coerced()?;
    items[1..].iter().try_fold(first, |sum, item| add(&sum, item, context))
}

fn mean(items: &[Value], context: &mut Context) -> Result<Value> {
    if items.is_empty() {
        return fail("Cannot calculate the mean of an empty array");
    }
    let total = total(items, context)?;
    divide(&total, &Value::Number(items.len() as f64), context)
}

/// `items` in ascending order.
pub(super) fn sorted(items: &[Value], context: &mut Context) -> Result<Vec<Value>> {
    context.spend(items.len() * (items.len().max(2).ilog2() as usize + 1))?;
    let mut failure = None;
    let mut sorted = items.to_vec();
    sorted.sort_by(|a, b| match compare(a, b) {
        Ok(order) if order < 0.0 => Ordering::Less,
        Ok(order) if order > 0.0 => Ordering::Greater,
        Ok(_) => Ordering::Equal,
        Err(error) => {
            failure.get_or_insert(error);
            Ordering::Equal
        }
    });
    failure.map_or(Ok(sorted), Err)
}

fn median(items: &[Value], context: &mut Context) -> Result<Value> {
    if items.is_empty() {
        return fail("Cannot calculate median of an empty array");
    }
    let items: Result<Vec<Value>> = items.iter().map(Value::coerced).collect();
    let sorted = sorted(&items?, context)?;
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return Ok(sorted[middle].clone());
    }
    let sum = add(&sorted[middle - 1], &sorted[middle], context)?;
    divide(&sum, &Value::Number(2.0), context)
}

/// The most frequent values, in order of appearance.
fn mode(items: &[Value], context: &mut Context) -> Result<Value> {
    if items.is_empty() {
        return fail("Cannot calculate mode of an empty array");
    }
    let mut counts = indexmap::IndexMap::new();
    for item in items {
        context.spend(1)?;
        let key = crate::format::value(item, &Default::default(), context)?;
        counts.entry(key).or_insert((item.clone(), 0)).1 += 1;
    }
    let most = counts.values().map(|(_, count)| *count).max().unwrap_or(0);
    let modes = counts.into_values().filter(|(_, count)| *count == most);
    Ok(Value::vector(modes.map(|(item, _)| item).collect()))
}

fn variance(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (arguments, normalization) = match arguments {
        [rest @ .., Value::Text(_)] if matches!(rest, [Value::Matrix(_), ..]) => {
            (rest, text("variance", arguments, arguments.len() - 1)?)
        }
        _ => (arguments, "unbiased".into()),
    };
    along("variance", arguments, context, |items, context| {
        if items.is_empty() {
            return fail("Cannot calculate variance of an empty array");
        }
        let mean = mean(items, context)?;
        let mut squares = Vec::new();
        for item in items {
            let difference = subtract(item, &mean, context)?;
            squares.push(multiply(&difference, &difference, context)?);
        }
        let sum = total(&squares, context)?;
        let count = items.len() as f64;
        let divisor = match &*normalization {
            "uncorrected" => count,
            "biased" => count + 1.0,
            "unbiased" if count == 1.0 => return Ok(Value::Number(0.0)),
            "unbiased" => count - 1.0,
            other => {
                let choices = "Choose \"unbiased\" (default), \"uncorrected\", or \"biased\".";
                return fail(format!("Unknown normalization \"{other}\". {choices}"));
            }
        };
        divide(&sum, &Value::Number(divisor), context)
    })
}

fn median_deviation(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let items = items("mad", arguments)?;
    if items.is_empty() {
        return fail("Cannot calculate median absolute deviation (mad) of an empty array");
    }
    let middle = median(&items, context)?;
    let mut deviations = Vec::new();
    for item in &items {
        let difference = subtract(item, &middle, context)?;
        deviations.push(super::arithmetic::abs(&difference, context)?);
    }
    median(&deviations, context)
}

fn quantiles(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let data = matrix("quantileSeq", arguments, 0)?;
    context.spend(data.items.len())?;
    if data.items.is_empty() {
        return fail("Cannot calculate quantile of an empty sequence");
    }
    let sorted = match arguments.get(2) {
        Some(Value::Boolean(true)) => data.items.clone(),
        _ => sorted(&data.items, context)?,
    };
    let list = match &arguments[1] {
        Value::Matrix(list) => {
            let probabilities: Result<Vec<f64>> = (0..list.items.len())
                .map(|index| number("quantileSeq", &list.items, index))
                .collect();
            probabilities?
        }
        _ => match number("quantileSeq", arguments, 1)? {
            p if p < 0.0 => return fail("N/prob must be non-negative"),
            p if p <= 1.0 => return quantile(&sorted, p, context),
            n if !is_integer(n) => return fail("N must be a positive integer"),
            n => {
                context.reserve(n as usize)?;
                (1..=n as usize).map(|place| place as f64 / (n + 1.0)).collect()
            }
        },
    };
    let values: Result<Vec<_>> = list.into_iter().map(|p| quantile(&sorted, p, context)).collect();
    Ok(Value::vector(values?))
}

fn quantile(sorted: &[Value], probability: f64, context: &mut Context) -> Result<Value> {
    if !(0.0..=1.0).contains(&probability) {
        return fail("Probability must be between 0 and 1, inclusive");
    }
    let place = probability * (sorted.len() - 1) as f64;
    let (whole, fraction) = (place.floor() as usize, place % 1.0);
    if fraction == 0.0 {
        return Ok(sorted[whole].clone());
    }
    let left = multiply(&sorted[whole], &Value::Number(1.0 - fraction), context)?;
    let right = multiply(&sorted[whole + 1], &Value::Number(fraction), context)?;
    add(&left, &right, context)
}

fn correlation(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (matrix("corr", arguments, 0)?, matrix("corr", arguments, 1)?);
    if a.size.len() == 2 && b.size.len() == 2 {
        if a.size != b.size {
            return fail(
                "Dimension mismatch. Array A and B must have the same number of elements.",
            );
        }
        let rows: Result<Vec<_>> = a
            .parts()
            .into_iter()
            .zip(b.parts())
            .map(|(a, b)| correlation(&[a, b], context))
            .collect();
        return Ok(Value::vector(rows?));
    }
    if a.items.len() != b.items.len() {
        return fail("Dimension mismatch. Array A and B must have the same number of elements.");
    }
    if a.items.is_empty() {
        return unexpected("corr", "a non-empty Array", &arguments[0], 0);
    }
    let products = |a: &[Value], b: &[Value], context: &mut Context| -> Result<Value> {
        let products: Result<Vec<_>> =
            a.iter().zip(b).map(|(a, b)| multiply(a, b, context)).collect();
        total(&products?, context)
    };
    let count = Value::Number(a.items.len() as f64);
    let (sum_a, sum_b) = (total(&a.items, context)?, total(&b.items, context)?);
    let spread = |squares: &Value, x: &Value, y: &Value, context: &mut Context| -> Result<Value> {
        let scaled = multiply(&count, squares, context)?;
        let product = multiply(x, y, context)?;
        subtract(&scaled, &product, context)
    };
    let (ab, aa, bb) = (
        products(&a.items, &b.items, context)?,
        products(&a.items, &a.items, context)?,
        products(&b.items, &b.items, context)?,
    );
    let above = spread(&ab, &sum_a, &sum_b, context)?;
    let (left, right) =
        (spread(&aa, &sum_a, &sum_a, context)?, spread(&bb, &sum_b, &sum_b, context)?);
    let below = sqrt(&multiply(&left, &right, context)?)?;
    divide(&above, &below, context)
}
