//! What the operators do to each type of value.
//!
//! `broadcast` lifts operations on scalars to matrices; the other files hold the operations.

mod broadcast;
mod arithmetic;
mod product;
mod compare;
mod logic;

pub(crate) use arithmetic::{
    add, dot_divide, dot_multiply, dot_power, modulus, subtract, unary_minus, unary_plus,
};
pub(crate) use broadcast::{binary, each, paired, unexpected};
pub(crate) use compare::{
    compare, compare_natural, compare_with, equal, equal_scalar, larger, smaller,
};
pub(crate) use logic::{
    and, bit_and, bit_not, bit_or, bit_xor, decided_by_left, not, or, shift, xor,
};
pub(crate) use product::{divide, divide_scalar, invert, multiply, multiply_scalar, power};

use crate::{
    error::{Result, fail},
    evaluate::Context,
    syntax::Operator,
    units::find,
    value::Value,
};

/// Evaluates `left operator right`.
pub(crate) fn apply(
    operator: Operator,
    left: &Value,
    right: &Value,
    context: &mut Context,
) -> Result<Value> {
    match operator {
        Operator::Add => add(left, right, context),
        Operator::Subtract => subtract(left, right, context),
        Operator::Multiply | Operator::ImplicitMultiply => multiply(left, right, context),
        Operator::DotMultiply => dot_multiply(left, right, context),
        Operator::Divide => divide(left, right, context),
        Operator::DotDivide => dot_divide(left, right, context),
        Operator::Modulus => modulus(left, right, context),
        Operator::Power => power(left, right, context),
        Operator::DotPower => dot_power(left, right, context),
        Operator::Convert => convert(left, right, context),
        Operator::LeftShift | Operator::RightArithmeticShift | Operator::RightLogicalShift => {
            shift(operator, left, right, context)
        }
        Operator::BitAnd => bit_and(left, right, context),
        Operator::BitXor => bit_xor(left, right, context),
        Operator::BitOr => bit_or(left, right, context),
        Operator::And => and(left, right, context),
        Operator::Xor => xor(left, right, context),
        Operator::Or => or(left, right, context),
        Operator::Nullish => Ok(right.clone()), // the left side is null or undefined: `decided_by_left` returns any other
    }
}

/// `left` in the unit `right`.
pub(crate) fn convert(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("to", left, right, context, |left, right, context| {
        let Value::Unit(quantity) = left else { return unexpected("to", "Unit", left, 0) };
        let target = match right {
            Value::Unit(unit) => (**unit).clone(),
            Value::Text(text) => find(text, context.units_mut())?,
            other => return unexpected("to", "Unit or string", other, 1),
        };
        if quantity.value.is_none() && target.value.is_some() {
            return fail("Cannot convert to a unit with a value");
        }
        Ok(quantity.converted(&target, context.units())?.into())
    })
}
