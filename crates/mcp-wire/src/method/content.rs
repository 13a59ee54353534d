//! Results of methods as content parts, and back: texts are cut and binaries kept as those of any tool.
//!
//! A resource's text becomes `{type: "text", text, resource: {uri, …}}` and its blob an embedded resource. A message
//! of a prompt becomes its content with the rest of it beside: `{type, …, message: {role}}`.

use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{Content, Part, ToolError, ToolOutput};

use super::Method;
use crate::without_server_info;

type Fields = Map<String, Value>;

/// Which field of a result becomes parts.
fn list_key(method: Method) -> Option<&'static str> {
    match method {
        Method::ReadResource => Some("contents"),
        Method::GetPrompt => Some("messages"),
        Method::Subscribe | Method::Complete => None,
    }
}

/// Makes content parts of a server's result.
///
/// # Errors
/// The result is no object.
pub(super) fn output(method: Method, result: &RawValue) -> Result<ToolOutput, ToolError> {
    let mut fields: Fields = serde_json::from_str(result.get()).map_err(|_| {
        ToolError::failed(format_args!("the server's answer to {} is not an object", method.name()))
    })?;
    // This hop's own.
    fields.shift_remove("resultType");
    without_server_info(&mut fields);
    let entries = list_key(method).and_then(|key| match fields.get_mut(key).map(Value::take) {
        Some(Value::Array(entries)) => Some(entries),
        _ => None,
    });
    let part = match method {
        Method::GetPrompt => message_part,
        _ => resource_part,
    };
    let parts = entries.into_iter().flatten().map(part).collect();
    list_key(method).map(|key| fields.shift_remove(key));
    Ok(ToolOutput::Content(Content { parts, fields }))
}

/// Returns the result that [`output`] was made of, its texts as they are now.
pub(super) fn result(method: Method, output: &ToolOutput) -> Option<Fields> {
    let (parts, fields) = match output {
        ToolOutput::Content(content) => {
            let parts = content.parts.iter().map(|part| part.0.clone()).collect();
            (parts, content.fields.clone())
        }
        // An answer that was read back from a record.
        ToolOutput::Value(Value::Object(answer)) => {
            let mut fields = answer.clone();
            let parts = match fields.shift_remove("content") {
                Some(Value::Array(parts)) => parts.into_iter().filter_map(object).collect(),
                _ => Vec::new(),
            };
            (parts, fields)
        }
        ToolOutput::Value(_) => return None,
    };
    let Some(key) = list_key(method) else { return Some(fields) };
    let entry = match method {
        Method::GetPrompt => message,
        _ => resource,
    };
    let entries = parts.into_iter().map(entry).map(Value::Object).collect();
    let mut result = Fields::from_iter([(key.to_owned(), Value::Array(entries))]);
    result.extend(fields);
    Some(result)
}

fn object(value: Value) -> Option<Fields> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn resource_part(entry: Value) -> Part {
    let Value::Object(mut resource) = entry else { return Part::text(entry.to_string()) };
    let mut part = match resource.shift_remove("text") {
        Some(Value::String(text)) => Part::text(text),
        text => {
            resource.extend(text.map(|text| ("text".to_owned(), text)));
            Part(Fields::from_iter([("type".to_owned(), "resource".into())]))
        }
    };
    part.0.insert("resource".to_owned(), Value::Object(resource));
    part
}

fn resource(mut part: Fields) -> Fields {
    let mut resource = part.shift_remove("resource").and_then(object).unwrap_or_default();
    if let Some(text) = part.shift_remove("text") {
        resource.insert("text".to_owned(), text);
    }
    resource
}

fn message_part(entry: Value) -> Part {
    let Value::Object(mut message) = entry else { return Part::text(entry.to_string()) };
    let mut part = match message.shift_remove("content") {
        Some(Value::Object(content)) => content,
        // Whatever it is, it is the client's to judge.
        content => {
            message.extend(content.map(|content| ("content".to_owned(), content)));
            Fields::from_iter([("type".to_owned(), "message".into())])
        }
    };
    part.insert("message".to_owned(), Value::Object(message));
    Part(part)
}

fn message(mut part: Fields) -> Fields {
    let mut message = part.shift_remove("message").and_then(object).unwrap_or_default();
    // A part of nothing but its type stands for a message without an object as its content.
    if part.len() > 1 {
        message.insert("content".to_owned(), Value::Object(part));
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn there_and_back(method: Method, result: &Value) -> (Value, Value) {
        let raw = serde_json::value::to_raw_value(result).unwrap();
        let output = output(method, &raw).unwrap();
        let ToolOutput::Content(content) = &output else { panic!("{output:?}") };
        let back = super::result(method, &output).unwrap();
        (serde_json::to_value(content).unwrap(), Value::Object(back))
    }

    // GW-6: nothing of a result is lost on its way through the executor.
    #[test]
    fn results_come_back_as_they_were() {
        let contents = json!({"contents": [
            {"uri": "a://1", "mimeType": "text/plain", "_meta": {"x": 1}, "text": "one"},
            {"uri": "a://2", "mimeType": "image/png", "blob": "AAAA"},
            {"uri": "a://3", "type": "vendor's", "text": "three"},
            {"uri": "a://4", "text": 4},
        ], "ttlMs": 5, "_meta": {"vendor": 1}});
        let messages = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}, "x": 1},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
            {"role": "user"},
        ], "description": "d"});
        let completion = json!({"completion": {"values": ["a"], "hasMore": false}});
        for (method, result) in [
            (Method::ReadResource, &contents),
            (Method::GetPrompt, &messages),
            (Method::Complete, &completion),
            (Method::ReadResource, &json!({"contents": []})),
        ] {
            assert_eq!(there_and_back(method, result).1, *result);
        }
    }

    // GW-6, RS-5, RS-6: what is text can be cut, and what is binary is known as such.
    #[test]
    fn texts_and_binaries_are_parts() {
        let contents = json!({"contents": [{"uri": "a://1", "text": "one"}, {"uri": "a://2", "blob": "AAAA"}],
                              "resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": {}}});
        let (parts, _) = there_and_back(Method::ReadResource, &contents);
        let expected = json!({"content": [
            {"type": "text", "text": "one", "resource": {"uri": "a://1"}},
            {"type": "resource", "resource": {"uri": "a://2", "blob": "AAAA"}},
        ]});
        assert_eq!(parts, expected);
        let recorded = ToolOutput::Value(parts);
        let back = result(Method::ReadResource, &recorded).unwrap();
        assert_eq!(back["contents"], contents["contents"]);
        assert!(result(Method::ReadResource, &ToolOutput::Value(json!("text"))).is_none());
        let none = RawValue::from_string("[]".to_owned()).unwrap();
        assert!(output(Method::GetPrompt, &none).is_err());
    }
}
