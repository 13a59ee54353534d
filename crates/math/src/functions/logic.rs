//! Comparison, logic and bits by name.

use super::{arguments::text, function};
use crate::{
    error::Result,
    evaluate::{Builtin, Context},
    operators::{self, binary, compare_with},
    syntax::{Comparison, Operator},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("equal", 2, 2, |arguments, context| {
        compare_with(Comparison::Equal, &arguments[0], &arguments[1], context)
    }),
    function("unequal", 2, 2, |arguments, context| {
        compare_with(Comparison::Unequal, &arguments[0], &arguments[1], context)
    }),
    function("smaller", 2, 2, |arguments, context| {
        compare_with(Comparison::Smaller, &arguments[0], &arguments[1], context)
    }),
    function("larger", 2, 2, |arguments, context| {
        compare_with(Comparison::Larger, &arguments[0], &arguments[1], context)
    }),
    function("smallerEq", 2, 2, |arguments, context| {
        compare_with(Comparison::SmallerOrEqual, &arguments[0], &arguments[1], context)
    }),
    function("largerEq", 2, 2, |arguments, context| {
        compare_with(Comparison::LargerOrEqual, &arguments[0], &arguments[1], context)
    }),
    function("compare", 2, 2, |arguments, context| {
        binary("compare", &arguments[0], &arguments[1], context, |left, right, _| {
            Ok(operators::compare(left, right)?.into())
        })
    }),
    function("compareNatural", 2, 2, |arguments, _| {
        Ok(f64::from(operators::compare_natural(&arguments[0], &arguments[1]) as i8).into())
    }),
    function("compareText", 2, 2, |arguments, context| {
        compare_text("compareText", arguments, context, |order| f64::from(order as i8).into())
    }),
    function("equalText", 2, 2, |arguments, context| {
        compare_text("equalText", arguments, context, |order| order.is_eq().into())
    }),
    function("deepEqual", 2, 2, deep_equal),
    function("and", 2, 2, |arguments, context| operator(Operator::And, arguments, context)),
    function("or", 2, 2, |arguments, context| operator(Operator::Or, arguments, context)),
    function("xor", 2, 2, |arguments, context| operator(Operator::Xor, arguments, context)),
    function("not", 1, 1, |arguments, context| operators::not(&arguments[0], context)),
    function("nullish", 2, 2, |arguments, context| operator(Operator::Nullish, arguments, context)),
    function("bitAnd", 2, 2, |arguments, context| operator(Operator::BitAnd, arguments, context)),
    function("bitOr", 2, 2, |arguments, context| operator(Operator::BitOr, arguments, context)),
    function("bitXor", 2, 2, |arguments, context| operator(Operator::BitXor, arguments, context)),
    function("bitNot", 1, 1, |arguments, context| operators::bit_not(&arguments[0], context)),
    function("leftShift", 2, 2, |arguments, context| {
        operator(Operator::LeftShift, arguments, context)
    }),
    function("rightArithShift", 2, 2, |arguments, context| {
        operator(Operator::RightArithmeticShift, arguments, context)
    }),
    function("rightLogShift", 2, 2, |arguments, context| {
        operator(Operator::RightLogicalShift, arguments, context)
    }),
];

fn operator(operator: Operator, arguments: &[Value], context: &mut Context) -> Result<Value> {
    match operators::decided_by_left(operator, &arguments[0])? {
        Some(value) => Ok(value),
        None => operators::apply(operator, &arguments[0], &arguments[1], context),
    }
}

fn compare_text(
    name: &str,
    arguments: &[Value],
    context: &mut Context,
    answer: fn(std::cmp::Ordering) -> Value,
) -> Result<Value> {
    binary(name, &arguments[0], &arguments[1], context, |left, right, _| {
        let pair = [left.clone(), right.clone()];
        Ok(answer(text(name, &pair, 0)?.cmp(&text(name, &pair, 1)?)))
    })
}

fn deep_equal(arguments: &[Value], context: &mut Context) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Matrix(a), Value::Matrix(b)) if a.size != b.size => Ok(false.into()),
        (Value::Matrix(_), Value::Matrix(_)) => {
            Ok(operators::equal(&arguments[0], &arguments[1], context)?.into())
        }
        (Value::Matrix(_), _) | (_, Value::Matrix(_)) => Ok(false.into()),
        (a, b) => Ok(operators::equal_scalar(a, b)?.into()),
    }
}
