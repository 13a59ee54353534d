//! The API's own context management: how it is asked for, and what it says that it did.

use serde_json::{Value, json};

use crate::{ContextEdits, ContextManagement, ModelConfig, json};

/// The name of the header that asks for features under test.
pub(super) const BETA: &str = "anthropic-beta";

/// The API makes no summary of fewer tokens.
const LEAST_COMPACTED: u64 = 50_000;

/// Returns the value of the header, with what the settings ask for beside it; `None` if nothing is asked for here.
pub(super) fn beta(config: &ModelConfig) -> Option<String> {
    let own = match config.context_management? {
        ContextManagement::ClearToolUses => "context-management-2025-06-27",
        ContextManagement::Compact => "compact-2026-01-12",
    };
    let theirs = config.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(BETA));
    Some(match theirs {
        Some((_, theirs)) => format!("{},{own}", theirs.reveal()),
        None => own.to_owned(),
    })
}

/// Returns the field of the request.
pub(super) fn field(config: &ModelConfig) -> Option<Value> {
    let trigger = ContextManagement::trigger(config);
    let (kind, trigger) = match config.context_management? {
        ContextManagement::ClearToolUses => ("clear_tool_uses_20250919", trigger),
        ContextManagement::Compact => {
            ("compact_20260112", trigger.map(|tokens| tokens.max(LEAST_COMPACTED)))
        }
    };
    let mut edit = json!({"type": kind});
    if let Some(tokens) = trigger {
        edit["trigger"] = json!({"type": "input_tokens", "value": tokens});
    }
    Some(json!({"edits": [edit]}))
}

/// Reads what the API says that it left out; it says so in a whole answer and in the last `message_delta` of a stream.
pub(super) fn read(said: &Value, edits: &mut ContextEdits) {
    for edit in json::items(&said["context_management"], "applied_edits") {
        let count = |key| json::number(edit, key).unwrap_or_default();
        if json::text(edit, "type").is_some_and(|kind| kind.starts_with("clear_tool_uses")) {
            edits.cleared_tool_uses = usize::try_from(count("cleared_tool_uses")).unwrap_or(0);
            edits.cleared_input_tokens = count("cleared_input_tokens");
        }
    }
}

/// Returns whether a block of content is a summary of what came before. One that failed has no text.
pub(super) fn is_summary(block: &serde_json::Map<String, Value>) -> bool {
    let is_text = |key: &str| block.get(key).is_some_and(Value::is_string);
    block.get("type").is_some_and(|kind| kind == "compaction") && is_text("content")
}
