//! The HTTP headers of a modern `tools/call`: `Mcp-Name`, and parameters as `Mcp-Param-*`.

use serde_json::Value;

/// A parameter that its schema wants in a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterHeader {
    /// The way to the parameter, through objects only.
    path: Vec<String>,
    /// The header's name.
    header: String,
}

impl ParameterHeader {
    /// The whole name of the header.
    pub fn header_name(&self) -> String {
        format!("Mcp-Param-{}", self.header)
    }
}

/// The parameters of a schema that go into headers.
///
/// # Errors
/// An `x-mcp-header` that the protocol forbids; the tool is not used over HTTP.
pub fn of_schema(schema: &Value) -> Result<Vec<ParameterHeader>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let mut names: Vec<_> = found.iter().map(|found| found.header.to_lowercase()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two parameters want the header {:?}", pair[0])),
        None => Ok(found),
    }
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<ParameterHeader>,
) -> Result<(), String> {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header") {
            let header = checked(header, &property["type"])
                .map_err(|problem| format!("x-mcp-header of '{}' {problem}", path.join(".")))?;
            found.push(ParameterHeader { path: path.clone(), header });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// The header's name, if it may stand at a parameter of this type.
fn checked(header: &Value, kind: &Value) -> Result<String, &'static str> {
    let name = header.as_str().unwrap_or("");
    // What RFC 9110 calls a token.
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match kind.as_str() {
        Some("string" | "integer" | "boolean") => {}
        _ => return Err("stands at a type that no header carries"),
    }
    match !name.is_empty() && name.bytes().all(token) {
        true => Ok(name.to_owned()),
        false => Err("is not a valid header name"),
    }
}

/// The headers of one call.
pub fn of_call(tool: &str, parameters: &[ParameterHeader], args: &Value) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Name".to_owned(), tool.to_owned())];
    for parameter in parameters {
        let value = parameter.path.iter().try_fold(args, |value, step| value.get(step));
        let text = match value {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        headers.push((parameter.header_name(), text));
    }
    headers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // MC-1
    #[test]
    fn annotated_parameters_go_into_headers() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "plain": {"type": "string"}
        }});
        let parameters = of_schema(&schema).unwrap();
        let args = json!({"region": "eu", "deep": {"count": 3}, "flag": null, "plain": "x"});
        let headers = of_call("t", &parameters, &args);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected =
            [pair("Mcp-Name", "t"), pair("Mcp-Param-Region", "eu"), pair("Mcp-Param-Count", "3")];
        assert_eq!(headers, expected);
    }

    // MC-1
    #[test]
    fn forbidden_annotations_are_found() {
        let one = |header: Value, kind: &str| {
            of_schema(&json!({"properties": {"a": {"type": kind, "x-mcp-header": header}}}))
        };
        for (header, kind) in [
            (json!(""), "string"),
            (json!("a b"), "string"),
            (json!("é"), "string"),
            (json!("A"), "number"),
            (json!("A"), "object"),
            (json!(5), "string"),
        ] {
            assert!(one(header.clone(), kind).is_err(), "{header} at {kind}");
        }
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}
        }});
        assert!(of_schema(&twice).is_err());
    }
}
