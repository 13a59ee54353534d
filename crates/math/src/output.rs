//! Answers as JSON.

use serde_json::{Map, Number, Value as Json};

use crate::{
    error::{Result, fail},
    evaluate::Context,
    format::{self, NumberStyle},
    matrix::Matrix,
    number::to_text,
    value::Value,
};

/// `value` as JSON: quantities as text, complex numbers as `{re, im}`, matrices as arrays.
pub(crate) fn to_json(value: &Value, context: &mut Context) -> Result<Json> {
    context.spend(10)?; // JSON takes more room than values do
    context.deeper(|context| match value {
        Value::Undefined | Value::Null => Ok(Json::Null),
        Value::Boolean(flag) => Ok(Json::Bool(*flag)),
        Value::Number(value) => number(*value),
        Value::Complex(value) => {
            let parts =
                [("re".to_owned(), number(value.re)?), ("im".to_owned(), number(value.im)?)];
            Ok(Json::Object(parts.into_iter().collect()))
        }
        Value::Text(text) => Ok(Json::String(text.to_string())),
        Value::Unit(unit) => Ok(Json::String(unit.text(&NumberStyle::default(), context.units())?)),
        Value::Matrix(matrix) => grid(matrix, context),
        Value::Object(object) => {
            let entries: Result<Map<_, _>> = object
                .iter()
                .map(|(key, item)| Ok((key.to_string(), to_json(item, context)?)))
                .collect();
            Ok(Json::Object(entries?))
        }
        Value::Function(function) => Ok(Json::String(function.signature())),
        Value::Index(_) => {
            Ok(Json::String(format::value(value, &NumberStyle::default(), context)?))
        }
        Value::Results(items) => match &items[..] {
            [only] => to_json(only, context),
            items => list(items, context),
        },
    })
}

/// The number as JavaScript writes it; fails for NaN and infinity, which JSON does not have.
fn number(value: f64) -> Result<Json> {
    if !value.is_finite() {
        return fail(format!("The result is {}", to_text(value)));
    }
    let text = if value == 0.0 { "0".to_owned() } else { to_text(value) };
    match text.parse::<Number>() {
        Ok(number) => Ok(Json::Number(number)),
        Err(_) => fail(format!("The result is not a number ({text})")),
    }
}

fn list(items: &[Value], context: &mut Context) -> Result<Json> {
    let items: Result<Vec<_>> = items.iter().map(|item| to_json(item, context)).collect();
    Ok(Json::Array(items?))
}

fn grid(matrix: &Matrix, context: &mut Context) -> Result<Json> {
    list(&matrix.parts(), context)
}
