//! A call's answer without its secrets.

use std::{borrow::Cow, cell::OnceCell};

use switchboard_toolcall::ToolResult;

use crate::redact;

/// A call's answer as compact JSON with secrets taken out: made when somebody first asks, and once for all of them.
#[derive(Debug, Default)]
pub struct Redacted<'a> {
    result: Option<&'a ToolResult>,
    json: OnceCell<String>,
}

impl<'a> Redacted<'a> {
    /// The answer of `result`.
    pub fn of(result: Option<&'a ToolResult>) -> Self {
        Self { result, json: OnceCell::new() }
    }

    /// Returns what models and people read of the call, without secrets. `None` if the call gave no result.
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

    /// The JSON; empty where the call gave no answer.
    pub fn json(&self) -> &str {
        let value = || self.result.and_then(ToolResult::value);
        self.json.get_or_init(|| value().map(|value| redact::value(&value)).unwrap_or_default())
    }
}
