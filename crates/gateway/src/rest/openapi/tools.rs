//! Every tool as an operation of its own, made from the one that calls any tool.

use std::{collections::HashSet, sync::Arc};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use switchboard_runtime::RegisteredTool;
use switchboard_toolcall::Origin;

use super::schema;

/// What stands in a path as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Adds an operation and the schemas of its arguments and its answer for each tool.
pub(super) fn add(document: &mut Value, tools: &[Arc<RegisteredTool>]) {
    let any_tool = document["paths"]["/api/tools/{name}/call"]["post"].clone();
    let mut taken: HashSet<String> = HashSet::new();
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for tool in tools {
        let id = operation_id(tool.name(), &mut taken);
        let operation = operation(&any_tool, tool, &id, &mut schemas);
        let name = utf8_percent_encode(tool.name(), SEGMENT);
        paths.insert(format!("/api/tools/{name}/call"), json!({"post": operation}));
    }
    for (place, new) in [("/paths", paths), ("/components/schemas", schemas)] {
        if let Some(Value::Object(known)) = document.pointer_mut(place) {
            known.extend(new);
        }
    }
}

fn operation(
    any_tool: &Value,
    tool: &RegisteredTool,
    id: &str,
    schemas: &mut Map<String, Value>,
) -> Value {
    let spec = tool.spec();
    let mut operation = any_tool.clone();
    operation["operationId"] = json!(id);
    operation["summary"] = json!(format!("Calls {}", tool.name()));
    operation["description"] = json!(spec.description);
    if let Some(Value::Array(parameters)) = operation.get_mut("parameters") {
        parameters.retain(|parameter| parameter["in"] != "path");
    }
    if !spec.settings.durable {
        answers_at_once(&mut operation);
    }
    let arguments = format!("{id}.arguments");
    schema::place(&spec.parameters, &arguments, schemas);
    let needs_some = spec.parameters["required"].as_array().is_some_and(|all| !all.is_empty());
    operation["requestBody"] = json!({
        "description": "The arguments",
        "required": needs_some,
        "content": {"application/json": {"schema": {"$ref": reference(&arguments)}}},
    });
    if let Some(output) = &spec.output_schema {
        let result = format!("{id}.result");
        schema::place(output, &result, schemas);
        operation["responses"]["200"]["content"]["application/json"]["schema"] =
            answer(&spec.origin, &reference(&result));
    }
    operation
}

/// Leaves out the queue, where calls of the tool cannot wait.
fn answers_at_once(operation: &mut Value) {
    if let Some(Value::Array(parameters)) = operation.get_mut("parameters") {
        parameters.retain(|parameter| parameter["name"] != "wait");
    }
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        responses.shift_remove("202");
    }
}

/// The envelope around an answer that the tool describes. One that was cut is text, and so is an MCP result that holds
/// nothing else.
fn answer(origin: &Origin, result: &str) -> Value {
    let result = match origin {
        Origin::Local => json!({"$ref": result}),
        Origin::Server { .. } => {
            json!({"type": "object", "properties": {"structuredContent": {"$ref": result}}})
        }
    };
    let result = json!({"anyOf": [result, {"type": "string"}]});
    json!({"allOf": [
        {"$ref": "#/components/schemas/Success"},
        {"type": "object", "properties": {"result": result}},
    ]})
}

fn reference(component: &str) -> String {
    format!("#/components/schemas/{component}")
}

/// A name that every generator can make a function of, and that no other tool has.
fn operation_id(name: &str, taken: &mut HashSet<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // `call_tool` itself is the operation that calls any.
    let first = format!("call_tool_{plain}");
    let more = (2..).map(|number| format!("{first}_{number}"));
    let id = std::iter::once(first.clone()).chain(more).find(|id| !taken.contains(id));
    let id = id.unwrap_or(first);
    taken.insert(id.clone());
    id
}
