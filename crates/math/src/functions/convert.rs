//! Conversion between types, and evaluation of text.

use super::{arguments::text, function};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context, evaluate},
    operators::{each, unexpected},
    parser::{self, parse_number},
    units::{Scalar, find},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("number", 0, 2, number),
    function("boolean", 0, 1, |arguments, context| match arguments.first() {
        None => Ok(false.into()),
        Some(value) => each(value, context, boolean),
    }),
    function("numeric", 1, 2, numeric),
    function("clone", 1, 1, |arguments, _| Ok(arguments[0].clone())),
    function("evaluate", 1, 2, |arguments, context| {
        if let Some(Value::Object(scope)) = arguments.get(1) {
            for (name, value) in &**scope {
                context.set_variable(name.clone(), value.clone())?;
            }
        }
        each(&arguments[0], context, |value, context| {
            let source = text("evaluate", std::slice::from_ref(value), 0)?;
            context.reserve_text(source.len())?;
            let node = parser::parse(&source, context.limits())?;
            evaluate(&node, context)
        })
    }),
];

fn number(arguments: &[Value], context: &mut Context) -> Result<Value> {
    match arguments {
        [] => Ok(Value::Number(0.0)),
        [value] => each(value, context, |value, _| match value {
            Value::Null => Ok(Value::Number(0.0)),
            Value::Text(text) => Ok(Value::Number(parse_number(text)?)),
            Value::Number(_) | Value::Boolean(_) => value.coerced(),
            // Without a unit to count in, a quantity stays what it is.
            Value::Unit(_) => Ok(value.clone()),
            other => unexpected("number", "number or Unit or string", other, 0),
        }),
        [Value::Unit(quantity), target, ..] => {
            let target = match target {
                Value::Unit(unit) => (**unit).clone(),
                Value::Text(text) => find(text, context.units_mut())?,
                other => return unexpected("number", "Unit or string", other, 1),
            };
            match quantity.converted(&target, context.units())?.numeric() {
                Some(Scalar::Real(number)) => Ok(Value::Number(number)),
                _ => fail("Cannot convert a complex quantity to a number"),
            }
        }
        [other, ..] => unexpected("number", "Unit", other, 0),
    }
}

fn boolean(value: &Value, _: &mut Context) -> Result<Value> {
    match value {
        Value::Null => Ok(false.into()),
        Value::Boolean(_) => Ok(value.clone()),
        Value::Number(number) => Ok((*number != 0.0 && !number.is_nan()).into()),
        Value::Text(text) => match text.to_lowercase().as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ if text.trim().is_empty() => fail(format!("Cannot convert \"{text}\" to a boolean")),
            _ => match parse_number(text) {
                Ok(number) => Ok((number != 0.0).into()),
                Err(_) => fail(format!("Cannot convert \"{text}\" to a boolean")),
            },
        },
        other => unexpected("boolean", "boolean or number or string", other, 0),
    }
}

fn numeric(arguments: &[Value], _: &mut Context) -> Result<Value> {
    let kind = if arguments.len() > 1 { text("numeric", arguments, 1)? } else { "number".into() };
    if &*kind != "number" {
        return fail(format!(
            "Cannot convert to \"{kind}\": only numbers of type \"number\" are supported"
        ));
    }
    match &arguments[0] {
        Value::Number(_) => Ok(arguments[0].clone()),
        Value::Text(text) => Ok(Value::Number(parse_number(text)?)),
        other => {
            let valid = "valid input types are string, number, BigNumber, Fraction";
            fail(format!("Cannot convert value of type \"{}\"; {valid}", other.type_name()))
        }
    }
}
