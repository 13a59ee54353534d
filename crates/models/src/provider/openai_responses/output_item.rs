//! The items of a response: what they say, which of them are calls, and what of them goes back.

use serde_json::{Map, Value, json};

use super::wire::SEPARATOR;
use crate::{Arguments, FoundTools, json, turn::DraftCall};

/// One item of the output: kept whole, because it must go back as it came.
#[derive(Default)]
pub(super) struct OutputItem {
    pub(super) index: Option<u64>,
    pub(super) content: Map<String, Value>,
    /// What was shown of it: the text of a message.
    pub(super) text: String,
    /// Whether that text says why the model declined.
    pub(super) refused: bool,
    /// What was shown of it: thoughts.
    pub(super) thoughts: String,
    /// The arguments of a call, in pieces.
    pub(super) arguments: String,
    pub(super) ended: bool,
}

impl OutputItem {
    pub(super) fn kind(&self) -> &str {
        self.text("type")
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.content.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn parts(&self, key: &str) -> &[Value] {
        self.content.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// What a message says, or why the model declined.
    pub(super) fn message_text(&self) -> String {
        if self.kind() != "message" {
            return String::new();
        }
        let text = |part| json::text(part, "text").or_else(|| json::text(part, "refusal"));
        self.parts("content").iter().filter_map(text).collect()
    }

    /// What a model thought: a summary, or of open models the thoughts themselves.
    pub(super) fn reasoning_text(&self) -> String {
        if self.kind() != "reasoning" {
            return String::new();
        }
        let texts = |key| {
            let parts = self.parts(key).iter().filter_map(|part| json::text(part, "text"));
            parts.collect::<Vec<_>>().join(SEPARATOR)
        };
        Some(texts("summary")).filter(|text| !text.is_empty()).unwrap_or_else(|| texts("content"))
    }

    pub(super) fn is_refusal(&self) -> bool {
        let mut parts = self.parts("content").iter();
        self.refused || parts.any(|part| json::text(part, "type") == Some("refusal"))
    }

    /// Returns the call of this item. The arguments that are sent back are always an object.
    pub(super) fn call(&mut self) -> Option<DraftCall> {
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
pub(super) fn native(mut items: Vec<OutputItem>) -> Option<Value> {
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
