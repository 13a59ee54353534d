//! Calls as tags: `<function=f><parameter=k>value</parameter></function>`, as Qwen3-Coder and its successors write
//! them. Values have no type; the schema says which one is meant.

use serde_json::{Map, Value};

use super::FoundCall;
use crate::lower::LoweredTool;

const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// Returns the calls in a body; `None` if one has no tool, or if anything else is in it.
pub(super) fn calls<'t>(
    body: &str,
    tool: &dyn Fn(&str) -> Option<&'t LoweredTool>,
) -> Option<Vec<FoundCall>> {
    let mut functions = body.split(FUNCTION);
    is_blank(functions.next()?)?;
    functions.map(|function| call(function, tool)).collect()
}

fn call<'t>(function: &str, tool: &dyn Fn(&str) -> Option<&'t LoweredTool>) -> Option<FoundCall> {
    let (name, rest) = function.split_once('>')?;
    let name = name.trim();
    let properties = tool(name)?.parameters.get("properties");
    let (body, is_closed) = match rest.split_once(FUNCTION_END) {
        Some((body, after)) => is_blank(after).map(|()| (body, true))?,
        None => (rest, false),
    };
    let mut parameters = body.split(PARAMETER).peekable();
    is_blank(parameters.next()?)?;
    let mut args = Map::new();
    while let Some(parameter) = parameters.next() {
        let (key, rest) = parameter.split_once('>')?;
        let text = match rest.rsplit_once(PARAMETER_END) {
            Some((text, after)) => is_blank(after).map(|()| text)?,
            // Something marks its end; otherwise the value may be cut, or prose.
            None if is_closed || parameters.peek().is_some() => rest,
            None => return None,
        };
        let key = key.trim();
        let schema = properties.and_then(|properties| properties.get(key));
        args.insert(key.to_owned(), value(text, schema));
    }
    Some(FoundCall { name: name.to_owned(), args })
}

/// Fails if there is more than white space.
fn is_blank(text: &str) -> Option<()> {
    text.trim().is_empty().then_some(())
}

/// The value that a text means, by the types that its schema allows.
fn value(text: &str, schema: Option<&Value>) -> Value {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.eq_ignore_ascii_case("null") {
        return Value::Null;
    }
    let mut types = Vec::new();
    collect_types(schema, &mut types, 0);
    let parsed = || serde_json::from_str::<Value>(text.trim()).ok();
    // From the narrowest type to the widest; a string is what remains.
    for wanted in ["boolean", "integer", "number", "array", "object"] {
        if !types.contains(&wanted) {
            continue;
        }
        let found = match wanted {
            "boolean" => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            "integer" => parsed().filter(|value| value.is_i64() || value.is_u64()),
            "number" => parsed().filter(Value::is_number),
            "array" => parsed().filter(Value::is_array),
            _ => parsed().filter(Value::is_object),
        };
        if let Some(found) = found {
            return found;
        }
    }
    Value::String(text.to_owned())
}

fn collect_types<'a>(schema: Option<&'a Value>, types: &mut Vec<&'a str>, depth: usize) {
    let Some(schema) = schema.filter(|_| depth < 8) else { return };
    match schema.get("type") {
        Some(Value::String(kind)) => types.push(kind),
        Some(Value::Array(kinds)) => types.extend(kinds.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            collect_types(Some(branch), types, depth + 1);
        }
    }
}
