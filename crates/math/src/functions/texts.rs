//! Text: printing values, in any notation or base.

use super::{
    arguments::{not_for_matrices, number, text},
    function,
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    format::{self, NumberStyle, based},
    matrix::Matrix,
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("format", 1, 2, |arguments, context| {
        let style = NumberStyle::from_option(arguments.get(1))?;
        if let Value::Function(_) = &arguments[0] {
            return Ok(Value::text("function"));
        }
        printed(&arguments[0], &style, context)
    }),
    function("string", 0, 1, |arguments, context| match arguments.first() {
        None => Ok(Value::text("")),
        Some(value) => string(value, context),
    }),
    function("print", 2, 3, print),
    function("hex", 1, 2, |arguments, context| in_base("hex", 16, arguments, context)),
    function("oct", 1, 2, |arguments, context| in_base("oct", 8, arguments, context)),
    function("bin", 1, 2, |arguments, context| in_base("bin", 2, arguments, context)),
    function("typeOf", 1, 1, |arguments, _| Ok(Value::text(arguments[0].type_name()))),
];

fn printed(value: &Value, style: &NumberStyle, context: &mut Context) -> Result<Value> {
    let text = format::value(value, style, context)?;
    context.reserve_text(text.len())?;
    Ok(Value::text(text))
}

/// The value as text; text stays as it is.
fn string(value: &Value, context: &mut Context) -> Result<Value> {
    match value {
        Value::Text(_) => Ok(value.clone()),
        Value::Matrix(matrix) => {
            context.reserve(matrix.items.len())?;
            let items: Result<Vec<_>> =
                matrix.items.iter().map(|item| string(item, context)).collect();
            Ok(Matrix::new(matrix.size.clone(), items?).into())
        }
        Value::Number(number) => Ok(Value::text(crate::number::to_text(*number))),
        other => printed(other, &NumberStyle::default(), context),
    }
}

fn in_base(name: &str, radix: u32, arguments: &[Value], context: &mut Context) -> Result<Value> {
    if matches!(arguments[0], Value::Matrix(_)) {
        return not_for_matrices(name);
    }
    let value = number(name, arguments, 0)?;
    let size = if arguments.len() > 1 { Some(number(name, arguments, 1)?) } else { None };
    let text = based(value, radix, size)?;
    context.reserve_text(text.len())?;
    Ok(Value::text(text))
}

/// Fills in `$name` and `$name.part` from an object.
fn print(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let template = text("print", arguments, 0)?;
    let style = NumberStyle::from_option(arguments.get(2))?;
    let Value::Object(_) = &arguments[1] else {
        return fail("print expects an object with the values to fill in");
    };
    let mut result = String::new();
    let mut rest = &*template;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let name = &rest[at + 1..];
        let length =
            name.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(name.len());
        let path = name[..length].trim_end_matches('.');
        match lookup(&arguments[1], path) {
            Some(Value::Text(text)) => result.push_str(&text),
            Some(value) => result.push_str(&format::value(&value, &style, context)?),
            None => result.push_str(&rest[at..=at + path.len()]),
        }
        context.reserve_text(result.len())?;
        rest = &name[path.len()..];
    }
    result.push_str(rest);
    Ok(Value::text(result))
}

fn lookup(object: &Value, path: &str) -> Option<Value> {
    path.split('.').try_fold(object.clone(), |value, key| match value {
        Value::Object(object) => object.get(key).cloned(),
        _ => None,
    })
}
