//! Ollama's `/api/chat`, and the templates behind it.

use serde_json::{Map, Value};

use super::{BrokenRule, items, text, tools};

/// All that the server reads of a property; it drops the rest without a word.
const KNOWN: &[&str] = &["type", "anyOf", "items", "description", "enum", "properties", "required"];

pub(super) fn check(body: &Value, broken: &mut BrokenRule) {
    broken.unless(body["options"]["num_ctx"].is_u64(), || "no num_ctx".to_owned());
    for key in ["truncate", "shift", "stream"] {
        broken.unless(body[key].is_boolean(), || format!("{key} is left to the server"));
    }
    let offered = items(body, "tools").iter().map(|tool| &tool["function"]);
    tools::check(offered.clone().map(|function| (function, &function["parameters"])), broken);
    for function in offered {
        check_schema(text(function, "name"), &function["parameters"], broken);
    }
    // Qwen's templates render neither ids nor names: order is the only link.
    let mut waiting: Vec<&str> = Vec::new();
    for (at, message) in items(body, "messages").iter().enumerate() {
        broken.unless(message["content"].is_string(), || {
            format!("message {at}: content is not text")
        });
        match text(message, "role") {
            "tool" => {
                let name = text(message, "tool_name");
                let expected = (!waiting.is_empty()).then(|| waiting.remove(0));
                broken.unless(expected == Some(name), || {
                    format!("message {at}: a result of {name:?}, not of {expected:?}")
                });
                continue;
            }
            "system" | "user" | "assistant" => {}
            other => broken.unless(false, || format!("message {at}: role {other:?}")),
        }
        broken.unless(waiting.is_empty(), || format!("message {at}: {waiting:?} have no result"));
        waiting = items(message, "tool_calls")
            .iter()
            .map(|call| text(&call["function"], "name"))
            .collect();
        for call in items(message, "tool_calls") {
            // Text instead is HTTP 400.
            let fits = call["function"]["arguments"].is_object();
            broken.unless(fits, || format!("message {at}: arguments that are not an object"));
        }
    }
    broken.unless(waiting.is_empty(), || format!("{waiting:?} have no result"));
}

fn check_schema(tool: &str, schema: &Value, broken: &mut BrokenRule) {
    let Value::Object(members) = schema else { return };
    for key in members.keys() {
        broken.unless(KNOWN.contains(&key.as_str()), || format!("{tool}: {key} would be dropped"));
    }
    let named = members.get("properties").and_then(Value::as_object);
    let inner = named.into_iter().flat_map(Map::values).chain(members.get("items"));
    for schema in inner.chain(items(schema, "anyOf")) {
        check_schema(tool, schema, broken);
    }
}
