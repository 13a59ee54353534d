//! Adds every tool as a separate operation, made from the operation that calls any tool.

use std::{collections::HashSet, sync::Arc};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use switchboard_runtime::RegisteredTool;
use switchboard_toolcall::ToolOrigin;

use super::schema;

/// The characters that are not encoded in a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Adds an operation for each tool, with the schemas of its arguments and its result.
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

/// Removes the queue's parameters if the tool's calls cannot be queued.
fn answers_at_once(operation: &mut Value) {
    if let Some(Value::Array(parameters)) = operation.get_mut("parameters") {
        parameters.retain(|parameter| parameter["name"] != "wait");
    }
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        responses.shift_remove("202");
    }
}

/// Returns the schema of the envelope around a result that the tool describes. A result that was cut is text, and so is an
/// MCP result that holds only text.
fn answer(origin: &ToolOrigin, result: &str) -> Value {
    let result = match origin {
        ToolOrigin::Local => json!({"$ref": result}),
        ToolOrigin::Server { .. } => {
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

/// Returns a unique operation id that every generator can make a function of.
fn operation_id(name: &str, taken: &mut HashSet<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // `call_tool` itself is the operation that calls any tool.
    let first = format!("call_tool_{plain}");
    let more = (2..).map(|number| format!("{first}_{number}"));
    let id = std::iter::once(first.clone()).chain(more).find(|id| !taken.contains(id));
    let id = id.unwrap_or(first);
    taken.insert(id.clone());
    id
}
