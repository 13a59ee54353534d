//! Logical and bitwise operators.

use super::{binary, each, paired, unexpected};
use crate::{
    error::{Result, fail},
    evaluate::Context,
    number::{is_integer, to_int32},
    syntax::Operator,
    value::Value,
};

/// Returns the result if the left side alone decides it.
pub(crate) fn decided_by_left(operator: Operator, left: &Value) -> Result<Option<Value>> {
    let scalar = !matches!(left, Value::Matrix(_));
    if scalar
        && matches!(operator, Operator::And | Operator::Or)
        && matches!(left, Value::Complex(_) | Value::Unit(_))
    {
        return unexpected(if operator == Operator::And { "and" } else { "or" }, "number", left, 0);
    }
    Ok(match operator {
        Operator::And if scalar && !truth("and", left, 0)? => Some(Value::Boolean(false)),
        Operator::Or if scalar && truth("or", left, 0)? => Some(Value::Boolean(true)),
        Operator::Nullish if !matches!(left, Value::Null | Value::Undefined) => Some(left.clone()),
        Operator::BitAnd => match left {
            Value::Number(number) if number.is_nan() => Some(Value::Number(f64::NAN)),
            Value::Number(0.0) | Value::Boolean(false) => Some(Value::Number(0.0)),
            _ => None,
        },
        Operator::BitOr => match left {
            Value::Number(number) if number.is_nan() => Some(Value::Number(f64::NAN)),
            Value::Number(-1.0) => Some(Value::Number(-1.0)),
            Value::Boolean(true) => Some(Value::Number(1.0)),
            _ => None,
        },
        _ => None,
    })
}

fn truth(name: &str, value: &Value, place: usize) -> Result<bool> {
    match value.coerced()? {
        Value::Number(number) => Ok(number != 0.0 && !number.is_nan()),
        Value::Complex(number) => Ok(number.re != 0.0 || number.im != 0.0),
        Value::Unit(unit) => Ok(unit.value.is_some_and(|value| value.abs() != 0.0)),
        other => unexpected(name, "number or Complex or Unit", &other, place),
    }
}

fn logical(
    name: &'static str,
    left: &Value,
    right: &Value,
    context: &mut Context,
    operation: fn(bool, bool) -> bool,
) -> Result<Value> {
    binary(name, left, right, context, |left, right, _| {
        let (a, b) = paired(name, left, right)?;
        if matches!(a, Value::Unit(_)) != matches!(b, Value::Unit(_)) {
            return unexpected(name, a.type_name(), right, 1);
        }
        Ok(operation(truth(name, &a, 0)?, truth(name, &b, 1)?).into())
    })
}

pub(crate) fn and(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    logical("and", left, right, context, |a, b| a & b)
}

pub(crate) fn or(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    logical("or", left, right, context, |a, b| a | b)
}

pub(crate) fn xor(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    logical("xor", left, right, context, |a, b| a ^ b)
}

pub(crate) fn not(value: &Value, context: &mut Context) -> Result<Value> {
    each(value, context, |value, _| Ok((!truth("not", value, 0)?).into()))
}

fn bits(name: &str, value: &Value, place: usize) -> Result<i32> {
    match value.coerced()? {
        Value::Number(number) if is_integer(number) => Ok(to_int32(number)),
        Value::Number(_) => fail(format!("Integers expected in function {name}")),
        other => unexpected(name, "number", &other, place),
    }
}

fn bitwise(
    name: &'static str,
    left: &Value,
    right: &Value,
    context: &mut Context,
    operation: fn(i32, i32) -> i32,
) -> Result<Value> {
    binary(name, left, right, context, |a, b, _| {
        Ok(f64::from(operation(bits(name, a, 0)?, bits(name, b, 1)?)).into())
    })
}

pub(crate) fn bit_and(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    bitwise("bitAnd", left, right, context, |a, b| a & b)
}

pub(crate) fn bit_or(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    bitwise("bitOr", left, right, context, |a, b| a | b)
}

pub(crate) fn bit_xor(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    bitwise("bitXor", left, right, context, |a, b| a ^ b)
}

pub(crate) fn bit_not(value: &Value, context: &mut Context) -> Result<Value> {
    each(value, context, |value, _| match value.coerced()? {
        Value::Number(number) if !is_integer(number) => fail("Integer expected in function bitNot"),
        value => Ok(f64::from(!bits("bitNot", &value, 0)?).into()),
    })
}

pub(crate) fn shift(
    operator: Operator,
    left: &Value,
    right: &Value,
    context: &mut Context,
) -> Result<Value> {
    let name = match operator {
        Operator::LeftShift => "leftShift",
        Operator::RightArithmeticShift => "rightArithShift",
        _ => "rightLogShift",
    };
    binary(name, left, right, context, |a, b, _| {
        let (number, places) = (bits(name, a, 0)?, (bits(name, b, 1)? & 31) as u32);
        Ok(Value::Number(match operator {
            Operator::LeftShift => f64::from(number << places),
            Operator::RightArithmeticShift => f64::from(number >> places),
            _ => f64::from(number as u32 >> places),
        }))
    })
}
