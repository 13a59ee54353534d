//! Parses responses: named events, or one response.

use serde_json::{Value, json};
use switchboard_toolcall::text::shortened;

use super::output_item::{OutputItem, is_call, native};
use crate::{
    ContextEdits, FailureKind, FoundTools, ModelError, StopReason, Usage,
    exchange::{ResponseReader, cut},
    http, json,
    sink::Sink,
    turn::TurnDraft,
};

/// Parts of the codes of failures that come again if the request does.
const FINAL_FAILURES: [&str; 5] = ["invalid_", "image", "policy", "quota", "residency"];

/// What separates two messages, or two thoughts, of one turn.
pub(super) const SEPARATOR: &str = "\n\n";

/// Reads one response.
#[derive(Default)]
pub(crate) struct ResponsesReader {
    max_tokens: Option<u64>,
    items: Vec<OutputItem>,
    /// The status of the response, and why it is incomplete, once it ended.
    status: Option<(String, Option<String>)>,
    usage: Usage,
}

impl ResponseReader for ResponsesReader {
    fn message(&mut self, event: &Value, sink: &mut Sink<'_>) -> Result<bool, ModelError> {
        let delta = json::text(event, "delta").unwrap_or_default();
        match json::text(event, "type").unwrap_or_default() {
            "response.output_item.added" => {
                self.start(json::number(event, "output_index"), &event["item"], sink);
            }
            "response.output_item.done" => {
                let position = self.find(event, &event["item"]).unwrap_or(self.items.len());
                self.end(position, json::number(event, "output_index"), &event["item"], sink);
            }
            kind @ ("response.output_text.delta" | "response.refusal.delta") => {
                let position = self.find_or_start(event, "message", sink);
                self.items[position].refused |= kind == "response.refusal.delta";
                self.say(position, delta, sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let position = self.find_or_start(event, "reasoning", sink);
                self.think(position, delta, sink);
            }
            "response.reasoning_summary_part.added" => {
                let position = self.find_or_start(event, "reasoning", sink);
                if !self.items[position].thoughts.is_empty() {
                    self.think(position, SEPARATOR, sink);
                }
            }
            "response.function_call_arguments.delta" => {
                let position = self.find_or_start(event, "function_call", sink);
                self.items[position].arguments.push_str(delta);
            }
            "response.function_call_arguments.done" => {
                let position = self.find_or_start(event, "function_call", sink);
                if let Some(arguments) = json::text(event, "arguments") {
                    arguments.clone_into(&mut self.items[position].arguments);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.close(&event["response"], sink)?;
                return Ok(true);
            }
            "error" => return Err(failure(event)),
            // Parts of what the items have as a whole, and what will be invented.
            _ => {}
        }
        Ok(false)
    }

    fn whole(&mut self, answer: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError> {
        if !answer.get("output").is_some_and(Value::is_array) {
            let text = format!("the answer has no output: {}", shortened(&answer.to_string(), 200));
            return Err(ModelError::new(FailureKind::Unreadable, text));
        }
        self.close(answer, sink)
    }

    fn finish(mut self: Box<Self>) -> Result<TurnDraft, ModelError> {
        let Some((status, reason)) = self.status.take() else { return Err(cut()) };
        let calls: Vec<_> = self.items.iter_mut().filter_map(OutputItem::call).collect();
        let refused = self.items.iter().any(OutputItem::is_refusal);
        // llama.cpp's server says `completed` even when the limit cut the answer.
        let spent =
            self.max_tokens.is_some_and(|most| most > 0 && self.usage.output_tokens >= most);
        let stop = match (&*status, reason.as_deref()) {
            _ if spent => StopReason::MaxTokens,
            (_, Some("max_output_tokens")) => StopReason::MaxTokens,
            (_, Some("content_filter")) => StopReason::Refusal,
            _ if refused => StopReason::Refusal,
            ("completed", _) if calls.is_empty() => StopReason::Answer,
            ("completed", _) => StopReason::ToolUse,
            (status, reason) => StopReason::Other(reason.unwrap_or(status).to_owned()),
        };
        let joined = |text: fn(&OutputItem) -> &String| {
            let texts = self.items.iter().map(text).filter(|text| !text.is_empty());
            texts.cloned().collect::<Vec<_>>().join(SEPARATOR)
        };
        let (content, reasoning) = (joined(|item| &item.text), joined(|item| &item.thoughts));
        let compacted = self.items.iter().any(|item| item.kind() == "compaction");
        Ok(TurnDraft {
            content,
            reasoning,
            calls,
            native: native(self.items),
            stop: Some(stop),
            usage: self.usage,
            warning: None,
            edits: ContextEdits { compacted, ..ContextEdits::default() },
        })
    }
}

impl ResponsesReader {
    pub(super) fn new(body: &Value) -> Self {
        Self { max_tokens: json::number(body, "max_output_tokens"), ..Self::default() }
    }

    fn start(&mut self, index: Option<u64>, content: &Value, sink: &mut Sink<'_>) {
        let Value::Object(content) = content else { return };
        let item = OutputItem { index, content: content.clone(), ..OutputItem::default() };
        match item.kind() {
            "function_call" => sink.call(item.text("name")),
            "tool_search_call" if is_call(&Value::Object(content.clone())) => {
                sink.call(FoundTools::SEARCH);
            }
            _ => {}
        }
        self.items.push(item);
    }

    /// Takes an item that is complete. What was not shown in pieces is shown now.
    fn end(&mut self, position: usize, index: Option<u64>, content: &Value, sink: &mut Sink<'_>) {
        let Value::Object(members) = content else { return };
        if position >= self.items.len() {
            self.start(index, content, sink);
        }
        let Some(item) = self.items.get_mut(position) else { return };
        item.content = members.clone();
        item.ended = true;
        let (text, thoughts) = (item.message_text(), item.reasoning_text());
        if item.text.is_empty() {
            self.say(position, &text, sink);
        }
        if self.items[position].thoughts.is_empty() {
            self.think(position, &thoughts, sink);
        }
    }

    /// Takes the response as it is in the end. Its output counts as far as no events told of it.
    fn close(&mut self, response: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError> {
        let status = json::text(response, "status").unwrap_or("completed");
        if status == "failed" || json::has_error(response) {
            return Err(failure(&response["error"]));
        }
        if self.items.iter().all(|item| !item.ended) {
            for (position, item) in json::items(response, "output").iter().enumerate() {
                self.end(position, None, item, sink);
            }
        }
        let count = |key| json::number(&response["usage"], key).unwrap_or_default();
        self.usage =
            Usage { input_tokens: count("input_tokens"), output_tokens: count("output_tokens") };
        let reason = json::text(&response["incomplete_details"], "reason").map(str::to_owned);
        self.status = Some((status.to_owned(), reason));
        Ok(())
    }

    /// Returns the position of the item that an event speaks of: that of its index, else of its id, else the open one of its
    /// call. There are servers that send no index, and others that give an item another id in every event.
    fn find(&self, event: &Value, item: &Value) -> Option<usize> {
        let index = json::number(event, "output_index");
        let id = json::text(event, "item_id").or_else(|| json::id(item));
        let call = json::text(item, "call_id").filter(|id| !id.is_empty());
        let is_same = |item: &OutputItem| match (index, item.index) {
            (Some(index), Some(known)) => index == known,
            _ => {
                let is_open_call = || !item.ended && Some(item.text("call_id")) == call;
                id.is_some_and(|id| item.text("id") == id) || is_open_call()
            }
        };
        self.items.iter().rposition(is_same)
    }

    /// Returns the position of the item that an event speaks of: the last one of this kind if the event does not say, and a new
    /// one if there is none.
    fn find_or_start(&mut self, event: &Value, kind: &str, sink: &mut Sink<'_>) -> usize {
        let index = json::number(event, "output_index");
        let is_open = |item: &OutputItem| item.kind() == kind && !item.ended;
        let last = || self.items.iter().rposition(is_open).filter(|_| index.is_none());
        if let Some(position) = self.find(event, &Value::Null).or_else(last) {
            return position;
        }
        let mut item = json!({"type": kind});
        if let Some(id) = json::text(event, "item_id") {
            item["id"] = json!(id);
        }
        self.start(index, &item, sink);
        self.items.len() - 1
    }

    fn say(&mut self, position: usize, text: &str, sink: &mut Sink<'_>) {
        let is_first = self.items.iter().all(|item| item.text.is_empty());
        let item = &mut self.items[position];
        if item.text.is_empty() && !is_first && !text.is_empty() {
            sink.text(SEPARATOR);
        }
        sink.text(text);
        item.text.push_str(text);
    }

    fn think(&mut self, position: usize, text: &str, sink: &mut Sink<'_>) {
        let is_first = self.items.iter().all(|item| item.thoughts.is_empty());
        let item = &mut self.items[position];
        if item.thoughts.is_empty() && !is_first && !text.is_empty() {
            sink.reasoning(SEPARATOR);
        }
        sink.reasoning(text);
        item.thoughts.push_str(text);
    }
}

/// The failure that an event or a response tells of, by its code and its words.
fn failure(error: &Value) -> ModelError {
    let code = json::text(error, "code").or_else(|| json::text(error, "type"));
    let code = code.filter(|code| *code != "error");
    let message = json::text(error, "message").unwrap_or("it did not say why");
    let said = code.map_or_else(|| message.to_owned(), |code| format!("{message} ({code})"));
    let is_final = code.is_some_and(|code| FINAL_FAILURES.iter().any(|part| code.contains(part)));
    let kind = match http::late_kind(&said) {
        FailureKind::Server if is_final => FailureKind::Rejected,
        kind => kind,
    };
    ModelError::new(kind, format!("the provider failed while it answered: {said}"))
}
