//! Parses responses: named events, or one response.

use serde_json::{Map, Value, json};
use switchboard_toolcall::text::shortened;

use crate::{
    Arguments, ContextEdits, FailureKind, FoundTools, ModelError, StopReason, Usage,
    exchange::{ResponseReader, cut},
    http, json,
    sink::Sink,
    turn::{DraftCall, TurnDraft},
};

/// Parts of the codes of failures that come again if the request does.
const FINAL_FAILURES: [&str; 5] = ["invalid_", "image", "policy", "quota", "residency"];

/// What separates two messages, or two thoughts, of one turn.
const SEPARATOR: &str = "\n\n";

/// Reads one response.
#[derive(Default)]
pub(crate) struct ResponsesReader {
    max_tokens: Option<u64>,
    items: Vec<OutputItem>,
    /// The status of the response, and why it is incomplete, once it ended.
    status: Option<(String, Option<String>)>,
    usage: Usage,
}

/// One item of the output: kept whole, because it must go back as it came.
#[derive(Default)]
struct OutputItem {
    index: Option<u64>,
    content: Map<String, Value>,
    /// What was shown of it: the text of a message.
    text: String,
    /// Whether that text says why the model declined.
    refused: bool,
    /// What was shown of it: thoughts.
    thoughts: String,
    /// The arguments of a call, in pieces.
    arguments: String,
    ended: bool,
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

impl OutputItem {
    fn kind(&self) -> &str {
        self.text("type")
    }

    fn text(&self, key: &str) -> &str {
        self.content.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn parts(&self, key: &str) -> &[Value] {
        self.content.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// What a message says, or why the model declined.
    fn message_text(&self) -> String {
        if self.kind() != "message" {
            return String::new();
        }
        let text = |part| json::text(part, "text").or_else(|| json::text(part, "refusal"));
        self.parts("content").iter().filter_map(text).collect()
    }

    /// What a model thought: a summary, or of open models the thoughts themselves.
    fn reasoning_text(&self) -> String {
        if self.kind() != "reasoning" {
            return String::new();
        }
        let texts = |key| {
            let parts = self.parts(key).iter().filter_map(|part| json::text(part, "text"));
            parts.collect::<Vec<_>>().join(SEPARATOR)
        };
        Some(texts("summary")).filter(|text| !text.is_empty()).unwrap_or_else(|| texts("content"))
    }

    fn is_refusal(&self) -> bool {
        let mut parts = self.parts("content").iter();
        self.refused || parts.any(|part| json::text(part, "type") == Some("refusal"))
    }

    /// Returns the call of this item. The arguments that are sent back are always an object.
    fn call(&mut self) -> Option<DraftCall> {
        let content = Value::Object(std::mem::take(&mut self.content));
        let is_ours = is_call(&content);
        let is_search = content["type"] == "tool_search_call";
        let Value::Object(mut content) = content else { return None };
        let mut call = None;
        if is_ours {
            let given = content.get("arguments").filter(|given| !given.is_null() && **given != "");
            let args = match given {
                Some(given) => Arguments::from_value(given.clone()),
                None => Arguments::parse(&self.arguments),
            };
            let is_kept = given.is_some_and(|given| is_object(given, is_search));
            if !is_kept {
                let replay = Value::Object(args.to_replay());
                let replay = if is_search { replay } else { json!(replay.to_string()) };
                content.insert("arguments".to_owned(), replay);
            }
            if !self.ended {
                content.shift_remove("status");
            }
            let text = |key| content.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
            let name =
                if is_search { FoundTools::SEARCH } else { text("name").unwrap_or_default() };
            call = Some(DraftCall {
                id: text("call_id").map(str::to_owned),
                name: name.to_owned(),
                args,
            });
        }
        self.content = content;
        call
    }

    /// Returns whether the item can be sent back. Reasoning that was cut is not accepted, nor reasoning that only names what
    /// the provider does not store.
    fn is_replayable(&self) -> bool {
        match self.kind() {
            "reasoning" => {
                let is_there = !self.text("encrypted_content").is_empty();
                self.ended && (is_there || !self.parts("content").is_empty())
            }
            "message" => !self.parts("content").is_empty(),
            kind => !kind.is_empty(),
        }
    }

    /// Completes a message of which only pieces came.
    fn complete(&mut self) {
        if self.kind() == "message" && self.parts("content").is_empty() && !self.text.is_empty() {
            let part = match self.refused {
                true => json!({"type": "refusal", "refusal": self.text}),
                false => json!({"type": "output_text", "text": self.text, "annotations": []}),
            };
            self.content.insert("role".to_owned(), json!("assistant"));
            self.content.insert("content".to_owned(), json!([part]));
        }
    }
}

/// Whether an item of the output is a call that is ours to run.
pub(super) fn is_call(item: &Value) -> bool {
    match json::text(item, "type") {
        Some("function_call") => true,
        Some("tool_search_call") => json::text(item, "execution") != Some("server"),
        _ => false,
    }
}

/// Whether arguments can go back as they came: an object for a search, the text of one for a function.
fn is_object(given: &Value, is_search: bool) -> bool {
    match given.as_str() {
        Some(text) => !is_search && serde_json::from_str::<Map<String, Value>>(text).is_ok(),
        None => is_search && given.is_object(),
    }
}

/// The items to send back. Reasoning goes before something else of the same turn, and what was said after reasoning that is
/// left out goes without its id, which the API would look up.
fn native(mut items: Vec<OutputItem>) -> Option<Value> {
    items.iter_mut().for_each(OutputItem::complete);
    let all = items.len();
    let mut kept: Vec<_> = items.into_iter().filter(OutputItem::is_replayable).collect();
    while kept.last().is_some_and(|item| item.kind() == "reasoning") {
        kept.pop();
    }
    let is_partial = kept.len() < all;
    let items = kept.into_iter().map(|mut item| {
        if is_partial && item.kind() != "reasoning" {
            item.content.shift_remove("id");
        }
        Value::Object(item.content)
    });
    let items: Vec<_> = items.collect();
    (!items.is_empty()).then_some(Value::Array(items))
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
