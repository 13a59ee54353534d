//! Calls as JSON: `{"name": "f", "arguments": {…}}`, as Qwen 2.5 and 3 write them.

use serde_json::Value;

use super::FoundCall;
use crate::{Arguments, json};

/// The calls in a body: one, several in a row, or a list of them. None where anything in it is something else.
pub(super) fn calls(body: &str) -> Option<Vec<FoundCall>> {
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
        match value.ok()? {
            Value::Array(items) => {
                for item in &items {
                    found.push(call(item)?);
                }
            }
            value => found.push(call(&value)?),
        }
    }
    Some(found)
}

fn call(value: &Value) -> Option<FoundCall> {
    let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let name = json::text(function, "name")?.to_owned();
    let args = function.get("arguments").or_else(|| function.get("parameters"))?;
    match Arguments::from_value(args.clone()) {
        Arguments::Object(args) => Some(FoundCall { name, args }),
        Arguments::Unparsable(_) => None,
    }
}
