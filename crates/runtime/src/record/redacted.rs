//! A call's result without its secrets.

use std::{borrow::Cow, cell::OnceCell};

use switchboard_toolcall::ToolResult;

use crate::redact;

/// A call's result as compact JSON with secrets redacted: computed on first use, once for all users.
#[derive(Debug, Default)]
pub struct RedactedResult<'a> {
    result: Option<&'a ToolResult>,
    json: OnceCell<String>,
}

impl<'a> RedactedResult<'a> {
    /// Wraps a result.
    pub fn of(result: Option<&'a ToolResult>) -> Self {
        Self { result, json: OnceCell::new() }
    }

    /// Returns the text of the result, with secrets redacted. `None` if the call has no result.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let result = self.result?;
        let text = match result.outcome {
            Ok(_) => result.text_beside_result(),
            Err(_) => Some(result.text()),
        };
        Some(match (text, serde_json::from_str::<String>(self.json())) {
            (Some(text), _) => Cow::Owned(redact::text(&text).into_owned()),
            (None, Ok(text)) => Cow::Owned(text),
            (None, Err(_)) => Cow::Borrowed(self.json()),
        })
    }

    /// Returns the JSON; empty if the call has no result.
    pub fn json(&self) -> &str {
        let value = || self.result.and_then(ToolResult::value);
        self.json.get_or_init(|| value().map(|value| redact::value(&value)).unwrap_or_default())
    }
}
