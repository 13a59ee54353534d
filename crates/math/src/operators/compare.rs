//! Comparison, with the tolerance that makes `0.1 + 0.2 == 0.3` true.

use std::cmp::Ordering;

use super::{binary, paired, unexpected};
use crate::{
    error::{Result, fail},
    evaluate::Context,
    number::nearly_equal,
    syntax::Comparison,
    units::Scalar,
    value::Value,
};

/// The comparison, item by item for matrices.
pub(crate) fn compare_with(
    comparison: Comparison,
    left: &Value,
    right: &Value,
    context: &mut Context,
) -> Result<Value> {
    let name = match comparison {
        Comparison::Equal => {
            return binary("equal", left, right, context, |a, b, _| Ok(equal_scalar(a, b)?.into()));
        }
        Comparison::Unequal => {
            return binary("unequal", left, right, context, |a, b, _| {
                Ok((!equal_scalar(a, b)?).into())
            });
        }
        Comparison::Smaller => "smaller",
        Comparison::Larger => "larger",
        Comparison::SmallerOrEqual => "smallerEq",
        Comparison::LargerOrEqual => "largerEq",
    };
    binary(name, left, right, context, |a, b, _| {
        let Some(ordering) = order(name, a, b)? else { return Ok(Value::Boolean(false)) };
        Ok(Value::Boolean(match comparison {
            Comparison::Smaller => ordering.is_lt(),
            Comparison::Larger => ordering.is_gt(),
            Comparison::SmallerOrEqual => ordering.is_le(),
            _ => ordering.is_ge(),
        }))
    })
}

/// Whether all of `left` equals `right`.
pub(crate) fn equal(left: &Value, right: &Value, context: &mut Context) -> Result<bool> {
    Ok(match compare_with(Comparison::Equal, left, right, context)? {
        Value::Matrix(matrix) => {
            matrix.items.iter().all(|item| matches!(item, Value::Boolean(true)))
        }
        value => matches!(value, Value::Boolean(true)),
    })
}

pub(crate) fn larger(left: &Value, right: &Value) -> Result<bool> {
    Ok(order("larger", left, right)? == Some(Ordering::Greater))
}

pub(crate) fn smaller(left: &Value, right: &Value) -> Result<bool> {
    Ok(order("smaller", left, right)? == Some(Ordering::Less))
}

/// -1, 0 or 1.
pub(crate) fn compare(left: &Value, right: &Value) -> Result<f64> {
    Ok(order("compare", left, right)?.map_or(f64::NAN, |ordering| f64::from(ordering as i8)))
}

/// Whether two scalars are equal.
pub(crate) fn equal_scalar(left: &Value, right: &Value) -> Result<bool> {
    let nothing = |value: &Value| matches!(value, Value::Null | Value::Undefined);
    if nothing(left) || nothing(right) {
        return Ok(left.type_name() == right.type_name());
    }
    match paired("equalScalar", left, right)? {
        (Value::Number(a), Value::Number(b)) => Ok(nearly_equal(a, b)),
        (Value::Unit(a), Value::Unit(b)) => {
            if !a.same_kind(&b) {
                return fail("Cannot compare units with different base");
            }
            Ok(matches!((a.value, b.value), (Some(a), Some(b)) if a.equals(b)))
        }
        (
            a @ (Value::Number(_) | Value::Complex(_)),
            b @ (Value::Number(_) | Value::Complex(_)),
        ) => Ok(Scalar::of(&a)?.equals(Scalar::of(&b)?)),
        (Value::Unit(_), other) => unexpected("equalScalar", "Unit", &other, 1),
        (Value::Number(_) | Value::Complex(_), other) => {
            unexpected("equalScalar", "number or Complex", &other, 1)
        }
        (other, _) => unexpected("equalScalar", "number or Complex or Unit", &other, 0),
    }
}

/// Compares two scalars; returns `None` if one of them is NaN.
fn order(name: &str, left: &Value, right: &Value) -> Result<Option<Ordering>> {
    let real =
        |a: f64, b: f64| if nearly_equal(a, b) { Some(Ordering::Equal) } else { a.partial_cmp(&b) };
    match paired(name, left, right)? {
        (Value::Number(a), Value::Number(b)) => Ok(real(a, b)),
        (Value::Unit(a), Value::Unit(b)) => {
            if !a.same_kind(&b) {
                return fail("Cannot compare units with different base");
            }
            match (a.value, b.value) {
                (Some(Scalar::Real(a)), Some(Scalar::Real(b))) => Ok(real(a, b)),
                _ => fail("Cannot compare units without a real value"),
            }
        }
        (Value::Complex(_), Value::Number(_) | Value::Complex(_))
        | (Value::Number(_), Value::Complex(_)) => {
            fail("No ordering relation is defined for complex numbers")
        }
        (Value::Number(_), other) => unexpected(name, "number", &other, 1),
        (Value::Unit(_), other) => unexpected(name, "Unit", &other, 1),
        (other, _) => unexpected(name, "number or Unit", &other, 0),
    }
}

/// An order over values of any type: by type first, then by value, text with its numbers in order.
pub(crate) fn compare_natural(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            if nearly_equal(*a, *b) {
                Ordering::Equal
            } else {
                a.total_cmp(b)
            }
        }
        (Value::Text(a), Value::Text(b)) => natural_text(a, b),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Complex(a), Value::Complex(b)) => a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im)),
        (Value::Unit(a), Value::Unit(b)) if a.same_kind(b) => {
            let size = |value: &Option<Scalar>| value.map_or(0.0, |value| value.complex().re);
            size(&a.value).total_cmp(&size(&b.value))
        }
        (Value::Matrix(a), Value::Matrix(b)) => {
            let items = a.items.iter().zip(&b.items).map(|(a, b)| compare_natural(a, b));
            items.fold(Ordering::Equal, Ordering::then).then(a.items.len().cmp(&b.items.len()))
        }
        _ => left.type_name().cmp(right.type_name()),
    }
}

fn natural_text(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    }
}
