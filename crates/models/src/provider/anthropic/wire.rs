//! Parses responses: named events, or one message.

use serde_json::{Map, Value, json};

use super::context_management;
use crate::{
    Arguments, ContextEdits, FailureKind, ModelError, StopReason, Usage,
    exchange::{ResponseReader, cut},
    json,
    sink::Sink,
    turn::{DraftCall, TurnDraft},
};

/// Reads one response.
#[derive(Default)]
pub(crate) struct AnthropicReader {
    blocks: Vec<ContentBlock>,
    stop: Option<String>,
    ended: bool,
    counts: TokenCounts,
    edits: ContextEdits,
}

/// One block of content: kept whole, because it must go back as it came.
#[derive(Default)]
struct ContentBlock {
    index: Option<u64>,
    content: Map<String, Value>,
    /// The arguments of a call, in pieces.
    json: String,
    ended: bool,
}

/// Tokens; reports are cumulative, and each may leave some out.
#[derive(Default)]
struct TokenCounts {
    input: u64,
    cache_write: u64,
    cache_read: u64,
    output: u64,
    /// What a summary cost that the API made first: the others leave that out.
    compaction: Usage,
}

impl ResponseReader for AnthropicReader {
    fn message(&mut self, event: &Value, sink: &mut Sink<'_>) -> Result<bool, ModelError> {
        match json::text(event, "type").unwrap_or_default() {
            "message_start" => {
                self.counts.take(&event["message"]["usage"]);
                // There are servers that send the whole of it here.
                for block in json::items(&event["message"], "content") {
                    self.start(None, block, sink);
                }
            }
            "content_block_start" => {
                self.start(json::number(event, "index"), &event["content_block"], sink);
            }
            "content_block_delta" => {
                self.delta(json::number(event, "index"), &event["delta"], sink)
            }
            "content_block_stop" => {
                if let Some(block) = self.block(json::number(event, "index")) {
                    block.ended = true;
                }
            }
            "message_delta" => {
                self.counts.take(&event["usage"]);
                context_management::read(event, &mut self.edits);
                if let Some(stop) = json::text(&event["delta"], "stop_reason") {
                    self.stop = Some(stop.to_owned());
                }
            }
            "message_stop" => {
                self.ended = true;
                return Ok(true);
            }
            // Pings, and what will be invented.
            _ => {}
        }
        Ok(false)
    }

    fn whole(&mut self, answer: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError> {
        if !answer.get("content").is_some_and(Value::is_array) {
            let start: String = answer.to_string().chars().take(200).collect();
            let text = format!("the answer has no content: {start}");
            return Err(ModelError::new(FailureKind::Unreadable, text));
        }
        for block in json::items(answer, "content") {
            self.start(None, block, sink);
        }
        for block in &mut self.blocks {
            block.ended = true;
        }
        self.counts.take(&answer["usage"]);
        context_management::read(answer, &mut self.edits);
        self.stop = json::text(answer, "stop_reason").map(str::to_owned);
        self.ended = true;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<TurnDraft, ModelError> {
        if !self.ended && self.stop.is_none() {
            return Err(cut());
        }
        let calls = self.blocks.iter_mut().filter_map(ContentBlock::call).collect();
        let all = |kind: &str, key: &str| -> String {
            let blocks = self.blocks.iter().filter(|block| block.kind() == kind);
            blocks.filter_map(|block| block.content.get(key)?.as_str()).collect()
        };
        let (content, reasoning) = (all("text", "text"), all("thinking", "thinking"));
        let usage = self.counts.total();
        let stop = match self.stop.as_deref() {
            Some("end_turn" | "stop_sequence") | None => StopReason::Answer,
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            Some("model_context_window_exceeded") => StopReason::ContextFull,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let compacted =
            self.blocks.iter().any(|block| context_management::is_summary(&block.content));
        let edits = ContextEdits { compacted, ..self.edits };
        let native = native(self.blocks);
        let stop = Some(stop);
        Ok(TurnDraft { content, reasoning, calls, native, stop, usage, edits, warning: None })
    }
}

impl AnthropicReader {
    fn start(&mut self, index: Option<u64>, content: &Value, sink: &mut Sink<'_>) {
        let Value::Object(content) = content else { return };
        let block = ContentBlock { index, content: content.clone(), ..ContentBlock::default() };
        match block.kind() {
            "text" => sink.text(block.text("text")),
            "thinking" => sink.reasoning(block.text("thinking")),
            "tool_use" => sink.call(block.text("name")),
            _ => {}
        }
        self.blocks.push(block);
    }

    fn delta(&mut self, index: Option<u64>, delta: &Value, sink: &mut Sink<'_>) {
        let Some(block) = self.block(index) else { return };
        match json::text(delta, "type").unwrap_or_default() {
            "text_delta" => sink.text(block.append("text", delta, "text")),
            "thinking_delta" => sink.reasoning(block.append("thinking", delta, "thinking")),
            "signature_delta" => {
                block.append("signature", delta, "signature");
            }
            "compaction_delta" => block.append_summary(delta),
            "input_json_delta" => {
                block.json.push_str(json::text(delta, "partial_json").unwrap_or_default())
            }
            "citations_delta" => {
                match block.content.entry("citations").or_insert_with(|| json!([])) {
                    Value::Array(citations) => citations.push(delta["citation"].clone()),
                    other => *other = json!([delta["citation"]]),
                }
            }
            _ => {}
        }
    }

    /// The block that an event speaks of: the last one of this index, or the last of all.
    fn block(&mut self, index: Option<u64>) -> Option<&mut ContentBlock> {
        let found = self.blocks.iter().rposition(|block| index.is_some() && block.index == index);
        match found {
            Some(position) => self.blocks.get_mut(position),
            None => self.blocks.last_mut(),
        }
    }
}

impl ContentBlock {
    fn kind(&self) -> &str {
        self.text("type")
    }

    fn text(&self, key: &str) -> &str {
        self.content.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn append<'d>(&mut self, key: &str, delta: &'d Value, from: &str) -> &'d str {
        let more = json::text(delta, from).unwrap_or_default();
        match self.content.entry(key).or_insert_with(|| json!("")) {
            Value::String(text) => text.push_str(more),
            other => *other = json!(more),
        }
        more
    }

    /// Takes a piece of a summary. Its encrypted part replaces the one before; a summary that failed has no text.
    fn append_summary(&mut self, delta: &Value) {
        if delta["content"].is_string() {
            self.append("content", delta, "content");
        } else {
            self.content.insert("content".to_owned(), Value::Null);
        }
        if let Some(encrypted) = delta.get("encrypted_content") {
            self.content.insert("encrypted_content".to_owned(), encrypted.clone());
        }
    }

    /// Returns the call of this block. The `input` that is sent back is always an object.
    fn call(&mut self) -> Option<DraftCall> {
        if self.kind() != "tool_use" {
            return None;
        }
        // The input at the start is a placeholder, unless nothing follows it.
        let args = if self.json.trim().is_empty() {
            Arguments::from_value(self.content.get("input").cloned().unwrap_or_default())
        } else {
            Arguments::parse(&self.json)
        };
        self.content.insert("input".to_owned(), Value::Object(args.to_replay()));
        let content = Value::Object(std::mem::take(&mut self.content));
        let call = DraftCall {
            id: json::id(&content).map(str::to_owned),
            name: json::text(&content, "name").unwrap_or_default().to_owned(),
            args,
        };
        if let Value::Object(content) = content {
            self.content = content;
        }
        Some(call)
    }
}

/// The content to send back. A thought that was cut has no signature, and is not accepted.
fn native(blocks: Vec<ContentBlock>) -> Option<Value> {
    let whole = blocks.into_iter().filter(|block| block.ended || block.kind() != "thinking");
    let content: Vec<_> = whole.map(|block| Value::Object(block.content)).collect();
    (!content.is_empty()).then_some(Value::Array(content))
}

impl TokenCounts {
    fn take(&mut self, usage: &Value) {
        let fields = [
            ("input_tokens", &mut self.input),
            ("cache_creation_input_tokens", &mut self.cache_write),
            ("cache_read_input_tokens", &mut self.cache_read),
            ("output_tokens", &mut self.output),
        ];
        for (key, count) in fields {
            // Cumulative; a later report that leaves out the input says 0.
            *count = (*count).max(json::number(usage, key).unwrap_or_default());
        }
        let all = json::items(usage, "iterations");
        let summaries = all.iter().filter(|pass| json::text(pass, "type") == Some("compaction"));
        let tokens = |pass: &Value, key| json::number(pass, key).unwrap_or_default();
        let cost: Usage = summaries
            .map(|pass| Usage {
                input_tokens: tokens(pass, "input_tokens"),
                output_tokens: tokens(pass, "output_tokens"),
            })
            .sum();
        if cost.input_tokens > 0 {
            self.compaction = cost;
        }
    }

    fn total(&self) -> Usage {
        Usage {
            input_tokens: self.input
                + self.cache_write
                + self.cache_read
                + self.compaction.input_tokens,
            output_tokens: self.output + self.compaction.output_tokens,
        }
    }
}
