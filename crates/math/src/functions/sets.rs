//! Sets, kept as vectors in which equal values may repeat.

use std::cmp::Ordering;

use super::{arguments::matrix, function};
use crate::{
    error::Result,
    evaluate::{Builtin, Context},
    matrix::Matrix,
    operators::compare_natural,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("setUnion", 2, 2, |arguments, context| {
        let (a, b) = (
            ordered("setUnion", arguments, 0, context)?,
            ordered("setUnion", arguments, 1, context)?,
        );
        let mut union = difference(&a, &b);
        union.extend(difference(&b, &a));
        union.extend(intersection(&a, &b));
        Ok(Value::vector(union))
    }),
    function("setIntersect", 2, 2, |arguments, context| {
        let (a, b) = (
            ordered("setIntersect", arguments, 0, context)?,
            ordered("setIntersect", arguments, 1, context)?,
        );
        Ok(Value::vector(intersection(&a, &b)))
    }),
    function("setDifference", 2, 2, |arguments, context| {
        let (a, b) = (
            ordered("setDifference", arguments, 0, context)?,
            ordered("setDifference", arguments, 1, context)?,
        );
        Ok(Value::vector(difference(&a, &b)))
    }),
    function("setSymDifference", 2, 2, |arguments, context| {
        let (a, b) = (
            ordered("setSymDifference", arguments, 0, context)?,
            ordered("setSymDifference", arguments, 1, context)?,
        );
        let mut result = difference(&a, &b);
        result.extend(difference(&b, &a));
        Ok(Value::vector(result))
    }),
    function("setIsSubset", 2, 2, |arguments, context| {
        let (a, b) = (
            ordered("setIsSubset", arguments, 0, context)?,
            ordered("setIsSubset", arguments, 1, context)?,
        );
        Ok(difference(&a, &b).is_empty().into())
    }),
    function("setDistinct", 1, 1, |arguments, context| {
        Ok(Value::vector(distinct(ordered("setDistinct", arguments, 0, context)?)))
    }),
    function("setSize", 1, 2, |arguments, context| {
        let items = ordered("setSize", arguments, 0, context)?;
        let unique = matches!(arguments.get(1), Some(Value::Boolean(true)));
        Ok(Value::Number(if unique { distinct(items).len() } else { items.len() } as f64))
    }),
    function("setMultiplicity", 2, 2, |arguments, context| {
        let items = ordered("setMultiplicity", arguments, 1, context)?;
        Ok(Value::Number(
            items.iter().filter(|item| compare_natural(item, &arguments[0]).is_eq()).count() as f64,
        ))
    }),
    function("setCartesian", 2, 2, cartesian),
    function("setPowerset", 1, 1, powerset),
];

/// The items of the set at `index`, in their natural order.
fn ordered(
    name: &str,
    arguments: &[Value],
    index: usize,
    context: &mut Context,
) -> Result<Vec<Value>> {
    let set = matrix(name, arguments, index)?;
    let steps = set.items.len().max(2).ilog2() as usize + 2;
    context.spend(set.items.len() * steps)?;
    let mut items = set.items.clone();
    items.sort_by(compare_natural);
    Ok(items)
}

/// The items that are in `a` more often than in `b`; both must be sorted.
fn difference(a: &[Value], b: &[Value]) -> Vec<Value> {
    merged(a, b, false)
}

/// The items that are in both, as often as in the one that has fewer of them; both must be sorted.
fn intersection(a: &[Value], b: &[Value]) -> Vec<Value> {
    merged(a, b, true)
}

fn merged(a: &[Value], b: &[Value], common: bool) -> Vec<Value> {
    let mut result = Vec::new();
    let mut rest = b.iter().peekable();
    for item in a {
        while rest.next_if(|other| compare_natural(other, item) == Ordering::Less).is_some() {}
        let found = rest.next_if(|other| compare_natural(other, item).is_eq()).is_some();
        if found == common {
            result.push(item.clone());
        }
    }
    result
}

fn distinct(mut items: Vec<Value>) -> Vec<Value> {
    items.dedup_by(|a, b| compare_natural(a, b).is_eq());
    items
}

fn cartesian(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (
        ordered("setCartesian", arguments, 0, context)?,
        ordered("setCartesian", arguments, 1, context)?,
    );
    context.reserve((a.len() * 2).saturating_mul(b.len()))?;
    let pairs: Vec<Value> =
        a.iter().flat_map(|a| b.iter().flat_map(move |b| [a.clone(), b.clone()])).collect();
    if pairs.is_empty() {
        return Ok(Value::vector(pairs));
    }
    Ok(Matrix::new(vec![pairs.len() / 2, 2], pairs).into())
}

fn powerset(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let items = ordered("setPowerset", arguments, 0, context)?;
    let count = u32::try_from(items.len())
        .ok()
        .and_then(|length| 1usize.checked_shl(length))
        .unwrap_or(usize::MAX);
    context.reserve(count.saturating_mul(items.len().max(1)))?;
    let mut subsets: Vec<Vec<Value>> = (0..count)
        .map(|chosen| {
            items
                .iter()
                .enumerate()
                .filter(|(place, _)| chosen >> place & 1 == 1)
                .map(|(_, item)| item.clone())
                .collect()
        })
        .collect();
    subsets.sort_by(|a, b| {
        let items = a
            .iter()
            .zip(b)
            .map(|(a, b)| compare_natural(a, b))
            .fold(Ordering::Equal, Ordering::then);
        a.len().cmp(&b.len()).then(items)
    });
    // Subsets differ in length, so they are a list of results rather than a matrix.
    Ok(Value::Results(std::rc::Rc::new(subsets.into_iter().map(Value::vector).collect())))
}
