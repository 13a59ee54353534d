//! Sums, differences, signs, the modulus, and the operators that go item by item.

use super::{
    binary, each, paired,
    product::{divide_scalar, multiply_scalar, power_scalar},
    unexpected,
};
use crate::{
    error::{Result, fail},
    evaluate::Context,
    number,
    units::Scalar,
    value::Value,
};

pub(crate) fn add(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("add", left, right, context, |left, right, _| {
        summed("addScalar", left, right, Scalar::add)
    })
}

pub(crate) fn subtract(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("subtract", left, right, context, |left, right, _| {
        summed("subtractScalar", left, right, Scalar::sub)
    })
}

fn summed(
    name: &str,
    left: &Value,
    right: &Value,
    operation: fn(Scalar, Scalar) -> Scalar,
) -> Result<Value> {
    if let (Value::Number(a), Value::Number(b)) = (left, right) {
        return Ok(operation(Scalar::Real(*a), Scalar::Real(*b)).into());
    }
    match paired(name, left, right)? {
        (Value::Unit(a), Value::Unit(b)) => a.summed(&b, operation),
        (Value::Unit(_), other) => unexpected(name, "Unit", &other, 1),
        (
            a @ (Value::Number(_) | Value::Complex(_)),
            b @ (Value::Number(_) | Value::Complex(_)),
        ) => Ok(operation(Scalar::of(&a)?, Scalar::of(&b)?).into()),
        (Value::Number(_) | Value::Complex(_), other) => {
            unexpected(name, "number or Complex", &other, 1)
        }
        (other, _) => unexpected(name, "number or Complex or Unit", &other, 0),
    }
}

pub(crate) fn unary_minus(value: &Value, context: &mut Context) -> Result<Value> {
    each(value, context, |value, _| match value.coerced()? {
        Value::Number(number) => Ok(Value::Number(-number)),
        Value::Complex(number) => Ok(Value::Complex(-number)),
        Value::Unit(unit) if unit.value.is_none() => {
            unexpected("unaryMinus", "a unit with a value", value, 0)
        }
        Value::Unit(unit) => Ok(unit.map_value(|value| value.mul(Scalar::Real(-1.0))).into()),
        other => unexpected("unaryMinus", "number or Complex or Unit", &other, 0),
    })
}

pub(crate) fn unary_plus(value: &Value, context: &mut Context) -> Result<Value> {
    each(value, context, |value, _| match value.coerced()? {
        value @ (Value::Number(_) | Value::Complex(_) | Value::Unit(_)) => Ok(value),
        other => unexpected("unaryPlus", "number or Complex or Unit", &other, 0),
    })
}

pub(crate) fn modulus(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("mod", left, right, context, |left, right, _| {
        match (left.coerced()?, right.coerced()?) {
            (Value::Number(x), Value::Number(y)) => Ok(Value::Number(number::modulus(x, y))),
            (Value::Number(_), other) => unexpected("mod", "number", &other, 1),
            (other, _) => unexpected("mod", "number", &other, 0),
        }
    })
}

pub(crate) fn dot_multiply(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("dotMultiply", left, right, context, multiply_scalar)
}

pub(crate) fn dot_divide(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("dotDivide", left, right, context, divide_scalar)
}

pub(crate) fn dot_power(left: &Value, right: &Value, context: &mut Context) -> Result<Value> {
    binary("dotPow", left, right, context, |left, right, context| match right {
        Value::Matrix(_) => fail("Unexpected matrix as exponent"),
        _ => power_scalar(left, right, context),
    })
}
