//! Quantities by function.

use super::{
    arguments::{matrix, number},
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number::nearly_equal,
    operators::{self, each, unexpected},
    units::{Scalar, System, Unit, find},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("unit", 0, 2, unit),
    function("to", 2, 2, |arguments, context| {
        operators::convert(&arguments[0], &arguments[1], context)
    }),
    function("toBest", 1, 1, |arguments, context| match &arguments[0] {
        Value::Unit(unit) => {
            let mut best = unit.best(context.units());
            best.fix_prefix = true;
            Ok(best.into())
        }
        other => unexpected("toBest", "Unit", other, 0),
    }),
    function("toSI", 1, 1, |arguments, context| match &arguments[0] {
        Value::Unit(unit) => Ok(unit.converted(&System::basic(unit), context.units())?.into()),
        other => unexpected("toSI", "Unit", other, 0),
    }),
    function("splitUnit", 2, 2, split),
];

fn unit(arguments: &[Value], context: &mut Context) -> Result<Value> {
    match arguments {
        [value] => each(value, context, |value, context| match value {
            Value::Unit(_) => Ok(value.clone()),
            Value::Number(_) | Value::Boolean(_) => Ok(Unit::bare(Some(Scalar::of(value)?)).into()),
            Value::Text(text) => Ok(find(text, context.units_mut())?.into()),
            other => unexpected("unit", "Unit or string or number", other, 0),
        }),
        [_, target] => {
            let value = match arguments[0].coerced()? {
                value @ (Value::Number(_) | Value::Complex(_)) => Scalar::of(&value)?,
                _ => Scalar::Real(number("unit", arguments, 0)?),
            };
            let target = target_unit("unit", target, context)?;
            if target.value.is_some() {
                return fail(
                    "The second parameter of function unit must be a string or a unit without a value",
                );
            }
            Ok(target.with_value(value).into())
        }
        _ => fail("Too few arguments in function unit (expected: Unit or string, index: 0)"),
    }
}

fn target_unit(name: &str, value: &Value, context: &mut Context) -> Result<Unit> {
    match value {
        Value::Unit(unit) => Ok((**unit).clone()),
        Value::Text(text) => find(text, context.units_mut()),
        other => unexpected(name, "Unit or string", other, 1),
    }
}

/// A quantity as whole numbers of each unit but the last, which takes the rest.
fn split(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let Value::Unit(quantity) = &arguments[0] else {
        return unexpected("splitUnit", "Unit", &arguments[0], 0);
    };
    let parts = matrix("splitUnit", arguments, 1)?;
    let mut rest = (**quantity).clone();
    let mut result: Vec<Value> = Vec::new();
    let mut sum = Scalar::Real(0.0);
    for (place, part) in parts.items.iter().enumerate() {
        let target = target_unit("splitUnit", part, context)?;
        rest = rest.converted(&target, context.units())?;
        if place + 1 == parts.items.len() {
            break;
        }
        let Some(Scalar::Real(number)) = rest.numeric() else {
            return fail("splitUnit expects a real quantity");
        };
        let near = number.round();
        let whole = target.with_value(Scalar::Real(if nearly_equal(near, number) {
            near
        } else {
            number.trunc()
        }));
        sum = sum.add(whole.value.unwrap_or(Scalar::Real(0.0)));
        if let Value::Unit(left) = rest.summed(&whole, Scalar::sub)? {
            rest = (*left).clone();
        }
        result.push(whole.into());
    }
    // The rest may be only a rounding error.
    if quantity.value.is_some_and(|value| value.equals(sum)) {
        rest.value = Some(Scalar::Real(0.0));
    }
    result.push(rest.into());
    Ok(Value::vector(result))
}
