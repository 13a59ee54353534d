//! The texts of SPEC §12, to the letter.

use serde_json::{Value, json};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, Content, Part, ToolCall, ToolError, ToolOutput},
};
use switchboard_testkit::Fake;

use super::{envelope, executor, object};

fn test_executor() -> ToolExecutor {
    let weather = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "options": {"type": "object", "properties": {"unit": {"type": "string"}}, "required": ["unit"]},
            "tags": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["city", "days"]
    });
    executor([
        Fake::answers("weather", json!("sunny")).parameters(weather),
        Fake::fails("fail", "the sensor is dry"),
        Fake::new("network", |_, _| async {
            Err(ToolError::unreachable("network", "api.example"))
        }),
        Fake::new("mcp", |_, _| async {
            let parts = vec![Part::text("It went wrong."), Part::text("Really.")];
            let content = Content { parts, ..Content::default() };
            Err(ToolError::answered(ToolOutput::Content(content)))
        }),
        Fake::new("answers", |args, _| async {
            let Value::Object(answer) = args else { unreachable!() };
            let content = Content::from_object(answer).unwrap();
            Err(ToolError::answered(ToolOutput::Content(content)))
        }),
        Fake::answers("free", json!(1))
            .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}})),
    ])
}

/// The three views of a failed call: the envelope's error, the text, the ToolMessage.
async fn views(name: &str, args: Value) -> [String; 3] {
    let call = ToolCall::new(name, object(args)).with_id("call_1");
    let result = test_executor().execute(call, &CallContext::default()).await;
    let message = result.message();
    assert_eq!(message.tool_call_id, "call_1");
    assert!(message.is_error);
    let error = envelope(&result)["error"].as_str().unwrap().to_owned();
    [error, result.text(), message.content]
}

fn each(error: &str) -> [String; 3] {
    [error.to_owned(), error.to_owned(), format!("Error: {error}")]
}

// RS-1, RS-3
#[tokio::test]
async fn unknown_tools() {
    let [error, text, message] = views("wether", json!({})).await;
    assert_eq!(error, "Tool 'wether' not found");
    assert_eq!(text, "Tool 'wether' not found");
    assert_eq!(message, "Error: Unknown tool \"wether\"\nDid you mean: weather");
    let [_, _, message] = views("quite_another", json!({})).await;
    assert_eq!(message, "Error: Unknown tool \"quite_another\"");
    assert_eq!(
        views("zw__on", json!({})).await,
        each("Unknown MCP server 'zw' in tool name 'zw__on'")
    );
}

// VA-2
#[tokio::test]
async fn invalid_parameters() {
    let required = ". Required parameters: city (string), days (integer)";
    let cases = [
        (json!({}), "missing 'city', 'days'"),
        (json!({"city": "Bonn"}), "missing 'days'"),
        (json!({"city": 5, "days": 1}), "'city' must be string, got integer"),
        (json!({"city": "Bonn", "days": 3.5}), "'days' must be integer, got number"),
        (
            json!({"city": null, "days": "x"}),
            "'city' must be string, got null; 'days' must be integer, got string",
        ),
        (
            json!({"city": "Bonn", "days": 1, "unit": "kelvin"}),
            "'unit' must be one of: celsius, fahrenheit",
        ),
        (json!({"city": "Bonn", "days": 1, "options": {}}), "missing 'options.unit'"),
        (
            json!({"city": "Bonn", "days": 1, "options": {"unit": 7}}),
            "'options.unit' must be string, got integer",
        ),
        (
            json!({"city": "Bonn", "days": 1, "tags": ["a", 2]}),
            "'tags[1]' must be string, got integer",
        ),
        (
            json!({"days": true, "options": {}}),
            "missing 'city', 'options.unit'; 'days' must be integer, got boolean",
        ),
    ];
    for (args, problem) in cases {
        let error = format!("Invalid parameters: {problem}");
        let text = format!("{error}{required}");
        assert_eq!(views("weather", args).await, [error, text.clone(), format!("Error: {text}")]);
    }
    // Where nothing is required, nothing is said of it.
    let expected = each("Invalid parameters: 'n' must be integer, got string");
    assert_eq!(views("free", json!({"n": "x"})).await, expected);
}

// VA-2: 3.0 is an integer, 3.5 is not; drafts 4 to 2020-12.
#[tokio::test]
async fn integers_may_have_a_point() {
    let drafts = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    for draft in drafts {
        let schema =
            json!({"$schema": draft, "type": "object", "properties": {"n": {"type": "integer"}}});
        let executor = executor([Fake::answers("t", json!(1)).parameters(schema)]);
        assert!(executor.call("t", json!({"n": 3.0})).await.is_success(), "{draft}");
        assert!(!executor.call("t", json!({"n": 3.5})).await.is_success(), "{draft}");
    }
}

// RS-4
#[tokio::test]
async fn failures_of_the_tool_itself() {
    assert_eq!(views("fail", json!({})).await, each("the sensor is dry"));
    let expected = each("Tool 'network' is unavailable: api.example could not be reached");
    assert_eq!(views("network", json!({})).await, expected);
    let words = "It went wrong.\nReally.".to_owned();
    assert_eq!(views("mcp", json!({})).await, [words.clone(), words.clone(), words]);
}

// RS-3, RS-4: of a failure, too, just the text is read, and base64 never.
#[tokio::test]
async fn a_failed_answer_is_its_text() {
    let text = json!({"type": "text", "text": "no such file"});
    let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
    let silent = "Tool 'answers' failed without a message";
    let cases = [
        (
            json!({"content": [text], "structuredContent": {"code": 2}, "_meta": {"x": 1}}),
            "no such file",
        ),
        (json!({"content": [], "structuredContent": {"code": 2}}), r#"{"code":2}"#),
        (json!({"content": []}), silent),
        (json!({"content": [{"type": "text", "text": " \n"}]}), silent),
        (json!({"content": [], "_meta": {"x": 1}}), silent),
        (
            json!({"content": [text, image]}),
            "no such file\n[image: image/png, 3 bytes, artifact ID]",
        ),
    ];
    for (answer, expected) in cases {
        let result = test_executor().call("answers", answer.clone()).await;
        let id = result.artifacts.first().map_or("", |artifact| artifact.id.as_str());
        let expected = expected.replace("ID", id);
        let message = result.message();
        assert!(message.is_error);
        let error = envelope(&result)["error"].clone();
        assert_eq!(
            [error, result.text().into(), message.content.into()],
            [&*expected; 3],
            "{answer}"
        );
    }
}

// RS-5: a long failure is cut as every other text.
#[tokio::test]
async fn a_long_failed_answer_can_be_read_on() {
    let words = "z".repeat(60_000);
    let part = json!({"type": "text", "text": words});
    let result = test_executor().call("answers", json!({"content": [part]})).await;
    assert!(result.truncated);
    let text = result.text();
    let note = format!(
        r#"read_result {{"id":"{}","offset":33334,"limit":10000}}"#,
        result.artifacts[0].id
    );
    assert!(text.contains(&note) && text.chars().count() <= 50_300, "{}", &text[33_000..34_000]);
}
