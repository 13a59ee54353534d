//! Functions of functions: mapping, filtering, sorting.

use std::rc::Rc;

use super::{
    ANY,
    arguments::{count, dimension, matrix, number},
    function,
    statistics::sorted,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context, Function, call},
    matrix::Matrix,
    operators::{compare_natural, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("map", 2, ANY, map),
    function("forEach", 2, 2, |arguments, context| {
        map(arguments, context).map(|_| Value::Undefined)
    }),
    function("filter", 2, 2, filter),
    function("sort", 1, 2, sort),
    function("partitionSelect", 2, 3, select),
    function("mapSlices", 3, 3, map_slices),
    function("apply", 3, 3, map_slices),
    function("matrixFromFunction", 2, 4, from_function),
];

fn callback(name: &str, arguments: &[Value], index: usize) -> Result<Rc<Function>> {
    match &arguments[index] {
        Value::Function(function) => Ok(function.clone()),
        other => unexpected(name, "function", other, index),
    }
}

/// Calls `function` with as many of the value, its index and the whole as it takes.
fn call_with(
    function: &Function,
    values: &[Value],
    place: usize,
    whole: &Rc<Matrix>,
    context: &mut Context,
) -> Result<Value> {
    let wants = match function {
        Function::Builtin(_) => values.len(),
        defined @ Function::Defined { .. } => defined.most_arguments(),
    };
    let mut arguments = values.to_vec();
    if wants > arguments.len() {
        arguments.push(index_of(place, &whole.size));
    }
    if wants > arguments.len() {
        arguments.push(Value::Matrix(whole.clone()));
    }
    call(function, &arguments, context)
}

/// The one-based index of the item at `place`.
fn index_of(place: usize, size: &[usize]) -> Value {
    let mut rest = place;
    let mut index = Vec::new();
    for length in size.iter().rev() {
        index.push((rest % length + 1) as f64);
        rest /= length;
    }
    Value::numbers(index.into_iter().rev())
}

fn map(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let last = arguments.len() - 1;
    let first = matrix("map", arguments, 0)?;
    let function = callback("map", arguments, last)?;
    let mut others = Vec::new();
    for index in 1..last {
        let other = matrix("map", arguments, index)?;
        if other.size != first.size {
            return fail("Dimension mismatch in function map");
        }
        others.push(other);
    }
    context.reserve(first.items.len())?;
    let mut items = Vec::new();
    for (place, item) in first.items.iter().enumerate() {
        let mut values = vec![item.clone()];
        values.extend(others.iter().map(|other| other.items[place].clone()));
        items.push(call_with(&function, &values, place, &first, context)?);
    }
    grid(first.size.clone(), items)
}

/// `items` in a matrix of `size`; items that are themselves matrices add their dimensions.
fn grid(size: Vec<usize>, items: Vec<Value>) -> Result<Value> {
    if !items.iter().any(|item| matches!(item, Value::Matrix(_))) {
        return Ok(Matrix::new(size, items).into());
    }
    let mut stacked = Matrix::stack(items)?;
    stacked.size.splice(..1, size);
    Ok(stacked.into())
}

fn filter(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let list = matrix("filter", arguments, 0)?;
    if list.size.len() != 1 {
        return fail("Only one dimensional matrices supported");
    }
    let function = callback("filter", arguments, 1)?;
    context.reserve(list.items.len())?;
    let mut items = Vec::new();
    for (place, item) in list.items.iter().enumerate() {
        let verdict = call_with(&function, std::slice::from_ref(item), place, &list, context)?;
        let kept = match verdict {
            Value::Boolean(flag) => flag,
            Value::Number(number) => number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
            Value::Null | Value::Undefined => false,
            _ => true,
        };
        if kept {
            items.push(item.clone());
        }
    }
    Ok(Value::vector(items))
}

fn sort(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let list = matrix("sort", arguments, 0)?;
    if list.size.len() != 1 {
        return fail("One dimensional matrix expected");
    }
    ordered("sort", &list.items, arguments.get(1), context).map(Value::vector)
}

fn ordered(
    name: &str,
    items: &[Value],
    order: Option<&Value>,
    context: &mut Context,
) -> Result<Vec<Value>> {
    let kind = match order {
        None => "asc",
        Some(Value::Text(kind)) => kind,
        Some(Value::Function(function)) => return sorted_by(items, function, context),
        Some(other) => return unexpected(name, "string or function", other, 1),
    };
    match kind {
        "asc" => sorted(items, context),
        "desc" => Ok(sorted(items, context)?.into_iter().rev().collect()),
        "natural" => {
            context.spend(items.len() * (items.len().max(2).ilog2() as usize + 1))?;
            let mut items = items.to_vec();
            items.sort_by(compare_natural);
            Ok(items)
        }
        _ => fail("String \"asc\", \"desc\", or \"natural\" expected"),
    }
}

/// Merge sort, so that a comparison that fails or contradicts itself does no harm.
fn sorted_by(items: &[Value], function: &Function, context: &mut Context) -> Result<Vec<Value>> {
    if items.len() < 2 {
        return Ok(items.to_vec());
    }
    let (left, right) = items.split_at(items.len() / 2);
    let (left, right) = (sorted_by(left, function, context)?, sorted_by(right, function, context)?);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut merged = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let order = call(function, &[a.clone(), b.clone()], context)?;
        let Some(order) = order.as_number() else {
            return unexpected("sort", "a comparison that gives a number", &order, 1);
        };
        merged.extend(if order > 0.0 { right.next() } else { left.next() });
    }
    Ok(merged.into_iter().chain(left).chain(right).collect())
}

/// The item that would be at a zero-based place if the list were sorted.
fn select(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let list = matrix("partitionSelect", arguments, 0)?;
    let place =
        count(number("partitionSelect", arguments, 1)?, "k must be a non-negative integer")?;
    let sorted = ordered("partitionSelect", &list.items, arguments.get(2), context)?;
    sorted.get(place).cloned().map_or_else(|| fail("k out of bounds"), Ok)
}

fn map_slices(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let grid = matrix("mapSlices", arguments, 0)?;
    let along = dimension("mapSlices", arguments, 1, &grid)?;
    let function = callback("mapSlices", arguments, 2)?;
    context.reserve(grid.items.len())?;
    let (size, slices) = grid.slices(along);
    let values: Result<Vec<_>> =
        slices.into_iter().map(|slice| call(&function, &[Value::vector(slice)], context)).collect();
    let values = values?;
    if size.is_empty() {
        return Ok(values.into_iter().next().unwrap_or(Value::Undefined));
    }
    if values.iter().any(|value| matches!(value, Value::Matrix(_))) {
        return fail("mapSlices expects a function that gives one value for each slice");
    }
    Ok(Matrix::new(size, values).into())
}

fn from_function(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let lengths = matrix("matrixFromFunction", arguments, 0)?;
    let function = callback("matrixFromFunction", arguments, 1)?;
    let mut size = Vec::new();
    for index in 0..lengths.items.len() {
        size.push(count(
            number("matrixFromFunction", &lengths.items, index)?,
            "The size must be positive integers",
        )?);
    }
    context.reserve_size(&size)?;
    let mut items = Vec::new();
    for place in 0..size.iter().product() {
        // Unlike everywhere else, the index given here counts from zero.
        let Value::Matrix(index) = index_of(place, &size) else { continue };
        let index = index.items.iter().filter_map(Value::as_number).map(|place| place - 1.0);
        items.push(call(&function, &[Value::numbers(index)], context)?);
    }
    grid(size, items)
}
