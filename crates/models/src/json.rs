//! Looks into JSON of which nothing is certain.

use serde_json::Value;

/// The text under `key`, if it is any.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the number under `key`, even if it was written as `3.0` or `"3"`.
pub(crate) fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a saturating cast is meant"
            )]
            number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns the items under `key`; an empty slice if it is not a list.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// An id that identifies something: servers also write `""` and `"null"`.
pub(crate) fn id(value: &Value) -> Option<&str> {
    text(value, "id").filter(|id| !id.is_empty() && *id != "null" && *id != "None")
}

/// Whether a message says that something failed; `null`, `false` and `""` do not.
pub(crate) fn has_error(value: &Value) -> bool {
    match value.get("error") {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(_)) => true,
        _ => false,
    }
}

/// Returns the message of an error body in any known format: `{error: {message, type}}`, `{error: "…"}`, `{message}`,
/// `{detail}`. Ollama passes on the bodies of its runners as text; then their message is returned.
pub(crate) fn error_text(value: &Value) -> Option<String> {
    let said = outer_text(value)?;
    let inner = serde_json::from_str::<Value>(said.trim()).ok().filter(Value::is_object);
    Some(inner.and_then(|inner| error_text(&inner)).unwrap_or(said))
}

fn outer_text(value: &Value) -> Option<String> {
    if let Some(error) = value.get("error").filter(|_| has_error(value)) {
        let code = text(error, "type").or_else(|| text(error, "code"));
        return Some(match (code, text(error, "message")) {
            (Some(code), Some(message)) => format!("{message} ({code})"),
            (_, Some(message)) => message.to_owned(),
            _ => error.as_str().map_or_else(|| error.to_string(), str::to_owned),
        });
    }
    let said = text(value, "message").or_else(|| text(value, "detail"));
    said.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_unwrapped() {
        // As a real Ollama passes on what llama.cpp's server said.
        let inner = r#"{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests.","type":"invalid_request_error"}}"#;
        let said = "Multimodal data provided, but model does not support multimodal requests. (invalid_request_error)";
        assert_eq!(error_text(&json!({"error": inner})).as_deref(), Some(said));
        for (body, said) in [
            (json!({"error": r#"{"error":"{\"message\":\"deep\"}"}"#}), Some("deep")),
            (json!({"error": "{broken"}), Some("{broken")),
            (json!({"error": r#"{"nothing": 1}"#}), Some(r#"{"nothing": 1}"#)),
            (json!({"error": {"message": "plain", "type": "t"}}), Some("plain (t)")),
            (json!({"detail": "so"}), Some("so")),
            (json!({}), None),
        ] {
            assert_eq!(error_text(&body).as_deref(), said, "{body}");
        }
    }
}
