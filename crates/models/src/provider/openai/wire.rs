//! Parses responses: a stream of chunks, or one completion.

use serde_json::{Map, Value, json};
use switchboard_toolcall::text::shortened;

use super::calls::CallFragments;
use crate::{
    FailureKind, ModelError, StopReason, Usage,
    exchange::{ResponseReader, cut},
    json,
    sink::Sink,
    turn::TurnDraft,
};

/// Reasoning as different servers call it.
const REASONING: &[&str] = &["reasoning_content", "reasoning", "thinking"];

/// Reads one response.
#[derive(Default)]
pub(crate) struct OpenAiReader {
    max_tokens: Option<u64>,
    text: String,
    refusal: String,
    reasoning: Map<String, Value>,
    details: Vec<Value>,
    calls: CallFragments,
    finish: Option<String>,
    usage: Usage,
}

impl ResponseReader for OpenAiReader {
    fn message(&mut self, chunk: &Value, sink: &mut Sink<'_>) -> Result<bool, ModelError> {
        self.take_usage(chunk);
        // `usage` comes with no choices at all; of several choices only the first is ours.
        let Some(choice) = json::items(chunk, "choices").first() else { return Ok(false) };
        if json::number(choice, "index").is_some_and(|index| index != 0) {
            return Ok(false);
        }
        let message = choice.get("delta").filter(|delta| !delta.is_null());
        if let Some(message) = message.or_else(|| choice.get("message")) {
            self.take_message(message, sink);
        }
        if let Some(finish) =
            json::text(choice, "finish_reason").filter(|finish| !finish.is_empty())
        {
            self.finish = Some(finish.to_owned());
        }
        Ok(false)
    }

    fn whole(&mut self, answer: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError> {
        if json::items(answer, "choices").is_empty() {
            let text =
                format!("the answer has no choices: {}", shortened(&answer.to_string(), 200));
            return Err(ModelError::new(FailureKind::Unreadable, text));
        }
        self.message(answer, sink)?;
        self.finish.get_or_insert_with(|| "stop".to_owned());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<TurnDraft, ModelError> {
        let Some(finish) = self.finish else { return Err(cut()) };
        if finish == "error" {
            return Err(ModelError::new(
                FailureKind::Server,
                "the provider failed while it answered",
            ));
        }
        // vLLM says `tool_calls` even when the limit cut them.
        let spent =
            self.max_tokens.is_some_and(|most| most > 0 && self.usage.output_tokens >= most);
        let stop = match finish.as_str() {
            _ if spent => StopReason::MaxTokens,
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            _ if !self.refusal.is_empty() => StopReason::Refusal,
            "stop" => StopReason::Answer,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            other => StopReason::Other(other.to_owned()),
        };
        let (calls, extras) = self.calls.finish();
        // Servers that say `tool_calls` without any have answered.
        let stop =
            if stop == StopReason::ToolUse && calls.is_empty() { StopReason::Answer } else { stop };
        let reasoning = REASONING.iter().find_map(|key| self.reasoning.get(*key)?.as_str());
        let reasoning = reasoning.unwrap_or_default().to_owned();
        let native = native(self.reasoning, self.details, extras);
        let content = if self.text.is_empty() { self.refusal } else { self.text };
        Ok(TurnDraft {
            content,
            reasoning,
            calls,
            native,
            stop: Some(stop),
            usage: self.usage,
            ..TurnDraft::default()
        })
    }
}

impl OpenAiReader {
    pub(super) fn new(body: &Value) -> Self {
        let most = json::number(body, "max_tokens")
            .or_else(|| json::number(body, "max_completion_tokens"));
        Self { max_tokens: most, ..Self::default() }
    }

    fn take_message(&mut self, message: &Value, sink: &mut Sink<'_>) {
        for (index, key) in REASONING.iter().enumerate() {
            let Some(delta) = json::text(message, key).filter(|delta| !delta.is_empty()) else {
                continue;
            };
            // Some send the same thoughts under two names; the user sees them once.
            if !REASONING[..index].iter().any(|key| self.reasoning.contains_key(*key)) {
                sink.reasoning(delta);
            }
            match self.reasoning.entry(*key).or_insert_with(|| json!("")) {
                Value::String(text) => text.push_str(delta),
                other => *other = json!(delta),
            }
        }
        self.details.extend_from_slice(json::items(message, "reasoning_details"));
        if let Some(text) = content(message.get("content")) {
            sink.text(&text);
            self.text.push_str(&text);
        }
        if let Some(refusal) = json::text(message, "refusal") {
            sink.text(refusal);
            self.refusal.push_str(refusal);
        }
        for fragment in json::items(message, "tool_calls") {
            self.calls.take(fragment, sink);
        }
        if let Some(call @ Value::Object(_)) = message.get("function_call") {
            self.calls.take(call, sink);
        }
    }

    fn take_usage(&mut self, chunk: &Value) {
        let usage = chunk.get("usage").filter(|usage| usage.is_object());
        let usage = usage.or_else(|| chunk.get("x_groq")?.get("usage"));
        if let Some(usage) = usage {
            let count = |key| json::number(usage, key).unwrap_or_default();
            self.usage = Usage {
                input_tokens: count("prompt_tokens"),
                output_tokens: count("completion_tokens"),
            };
        }
    }
}

/// Text, in one piece or in parts.
fn content(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| json::text(part, "text")).collect())
        }
        _ => None,
    }
}

fn native(
    mut message: Map<String, Value>,
    details: Vec<Value>,
    extras: Vec<Map<String, Value>>,
) -> Option<Value> {
    if !details.is_empty() {
        message.insert("reasoning_details".to_owned(), Value::Array(details));
    }
    let has_extras = extras.iter().any(|extra| !extra.is_empty());
    match (message.is_empty(), has_extras) {
        (true, false) => None,
        (_, false) => Some(json!({"message": message})),
        (_, true) => Some(json!({"message": message, "calls": extras})),
    }
}
