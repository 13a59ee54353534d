//! Reads the result of `tools/call` in one pass, since most of it is only passed on.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};
use switchboard_mcp_wire::{error_kind, without_server_info};
use switchboard_toolcall::{Content, ErrorKind, Part, ToolError, ToolOutput};

/// Returns the tool's output, without the fields that belong to the protocol.
///
/// # Errors
/// Fails if the tool reports an error, or the result is not one of `tools/call`.
pub(super) fn output(result: &RawValue) -> Result<ToolOutput, ToolError> {
    let parsed: ParsedToolResult = serde_json::from_str(result.get())
        .map_err(|_| ToolError::failed("the server's answer is not a tool result"))?;
    let ParsedToolResult { parts, mut fields, failed } = parsed;
    let kind = take_error_kind(&mut fields);
    without_server_info(&mut fields);
    let output = ToolOutput::Content(Content { parts, fields });
    if !failed {
        return Ok(output);
    }
    let mut error = ToolError::answered(output);
    error.kind = kind.unwrap_or(error.kind);
    Err(error)
}

/// Removes and returns the kind of a failure, which a server that is itself a Switchboard adds to its text.
fn take_error_kind(fields: &mut Map<String, Value>) -> Option<ErrorKind> {
    error_kind::take(fields.get_mut("_meta")?.as_object_mut()?)
}

/// The fields of a result, the known ones parsed.
#[derive(Default)]
struct ParsedToolResult {
    parts: Vec<Part>,
    fields: Map<String, Value>,
    failed: bool,
}

impl<'de> Deserialize<'de> for ParsedToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ToolResultVisitor)
    }
}

struct ToolResultVisitor;

impl<'de> Visitor<'de> for ToolResultVisitor {
    type Value = ParsedToolResult;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the result of a tool")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedToolResult, A::Error> {
        let mut parsed = ParsedToolResult::default();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value()?;
            match (key.as_str(), value) {
                ("content", Value::Array(parts)) => {
                    parsed.parts = parts.into_iter().map(part).collect();
                }
                ("content", _) => return Err(A::Error::custom("the content is not a list")),
                ("isError", failed) => parsed.failed = failed == Value::Bool(true),
                // Belongs to this hop only.
                ("resultType", _) => {}
                (_, value) => _ = parsed.fields.insert(key, value),
            }
        }
        Ok(parsed)
    }
}

/// Converts a content part; a part that is not an object becomes its text.
fn part(value: Value) -> Part {
    match value {
        Value::Object(part) => Part(part),
        other => Part::text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(result: &str) -> Result<Value, String> {
        let result = RawValue::from_string(result.to_owned()).unwrap();
        match output(&result) {
            Ok(ToolOutput::Content(content)) => Ok(serde_json::to_value(content).unwrap()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.for_model),
        }
    }

    // MC-4
    #[test]
    fn everything_but_book_keeping_is_passed_on() {
        let text = json!([{"type": "text", "text": "hi"}]);
        let cases = [
            (r#"{"content":[{"type":"text","text":"hi"}]}"#, json!({"content": text})),
            (
                r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}],"isError":false,"vendor/x":1.50}"#,
                json!({"content": text, "vendor/x": 1.5}),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}"#,
                json!({"content": []}),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/serverInfo":1,"a":2}}"#,
                json!({"content": [], "_meta": {"a": 2}}),
            ),
            (
                r#"{"content":[7],"structuredContent":{"a":[]}}"#,
                json!({"content": [{"type": "text", "text": "7"}], "structuredContent": {"a": []}}),
            ),
            (r#"{"content":[],"isError":"yes"}"#, json!({"content": []})),
        ];
        for (result, expected) in cases {
            let found = check(result).unwrap();
            // Numbers keep their digits, so they are compared as text.
            assert_eq!(found.to_string().replace("1.50", "1.5"), expected.to_string(), "{result}");
        }
    }

    // RS-2, RS-4: a server may report the kind of its failure, but none that would do harm.
    #[test]
    fn some_kinds_of_failure_are_believed() {
        let cases = [
            (r#""unavailable""#, ErrorKind::Unavailable),
            (r#""timeout""#, ErrorKind::Timeout),
            (r#""invalid_parameters""#, ErrorKind::InvalidParameters),
            (r#""overloaded""#, ErrorKind::ToolError),
            (r#""denied""#, ErrorKind::ToolError),
            (r#""internal""#, ErrorKind::ToolError),
            (r#""nonsense""#, ErrorKind::ToolError),
            ("7", ErrorKind::ToolError),
        ];
        for (said, kind) in cases {
            let result = format!(
                r#"{{"content":[{{"type":"text","text":"no"}}],"isError":true,"_meta":{{"switchboard/errorKind":{said}}}}}"#
            );
            let error = output(&RawValue::from_string(result).unwrap()).unwrap_err();
            assert_eq!((error.kind, error.for_model.as_str()), (kind, "no"), "{said}");
            // It belongs to this hop: the next one gets it again.
            let passed = format!("{:?}", error.output);
            assert!(!passed.contains("errorKind"), "{passed}");
        }
        // A result that is not an error has no kind.
        let done = check(r#"{"content":[],"_meta":{"switchboard/errorKind":"unavailable","a":1}}"#);
        assert_eq!(done.unwrap(), json!({"content": [], "_meta": {"a": 1}}));
    }

    // MC-4
    #[test]
    fn what_is_no_result_is_an_error() {
        for result in ["7", "[]", "null", r#"{"content":"hi"}"#, r#"{"content":null}"#] {
            assert_eq!(check(result).unwrap_err(), "the server's answer is not a tool result");
        }
        let failed = check(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#);
        assert_eq!(failed.unwrap_err(), "no");
    }
}
