//! Anthropic Messages.

use std::collections::HashSet;

use serde_json::Value;

use super::{BrokenRule, is_plain, items, text, tools};

pub(super) fn check(body: &Value, broken: &mut BrokenRule) {
    let count = body["max_tokens"].as_u64();
    broken.unless(count.is_some_and(|count| count > 0), || "no max_tokens".to_owned());
    let offered = items(body, "tools");
    tools::check(offered.iter().map(|tool| (tool, &tool["input_schema"])), broken);
    let breakpoints = body.to_string().matches("\"cache_control\"").count();
    broken.unless(breakpoints <= 4, || format!("{breakpoints} cache breakpoints"));
    check_deferred(body, offered, broken);
    let messages = items(body, "messages");
    let mut ids = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        broken.unless(text(message, "role") == expected, || {
            format!("message {at} is not {expected}'s")
        });
        let blocks = items(message, "content");
        broken.unless(!blocks.is_empty(), || format!("message {at} is empty"));
        blocks.iter().for_each(|block| check_block(at, block, broken));
        let before = at.checked_sub(1).and_then(|before| messages.get(before));
        check_results(at, before, blocks, broken);
        for id in calls(message) {
            broken.unless(is_plain(id) && ids.insert(id), || format!("call id {id:?}"));
        }
    }
    // An answer that is begun for the model would be a prefill, which new models reject.
    let last = messages.last().map(|message| text(message, "role"));
    broken.unless(last == Some("user"), || "the user does not speak last".to_owned());
    broken.unless(ids.is_empty() || !offered.is_empty(), || "calls without tools".to_owned());
}

/// A deferred tool is not cached, not every tool is deferred, and what a result refers to is a deferred tool.
fn check_deferred(body: &Value, offered: &[Value], broken: &mut BrokenRule) {
    let is_deferred = |tool: &&Value| tool["defer_loading"] == true;
    let deferred: HashSet<_> =
        offered.iter().filter(is_deferred).map(|tool| text(tool, "name")).collect();
    let is_both = |tool: &Value| is_deferred(&tool) && tool.get("cache_control").is_some();
    broken.unless(!offered.iter().any(is_both), || "a deferred tool with cache_control".to_owned());
    broken.unless(offered.is_empty() || !offered.iter().all(|tool| is_deferred(&tool)), || {
        "all tools are deferred".to_owned()
    });
    let blocks = items(body, "messages").iter().flat_map(|message| items(message, "content"));
    for part in blocks.flat_map(|block| items(block, "content")) {
        if part["type"] == "tool_reference" {
            let name = text(part, "tool_name");
            broken.unless(deferred.contains(name), || format!("a reference to {name:?}"));
        }
    }
}

/// The calls of a message that are ours to answer.
fn calls(message: &Value) -> Vec<&str> {
    let blocks = items(message, "content").iter();
    blocks.filter(|block| block["type"] == "tool_use").map(|block| text(block, "id")).collect()
}

/// One result for each call of the message before, all of them before anything else.
fn check_results(at: usize, before: Option<&Value>, blocks: &[Value], broken: &mut BrokenRule) {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let first: Vec<_> = blocks.iter().take_while(is_result).collect();
    let all = blocks.iter().filter(is_result).count();
    broken.unless(first.len() == all, || format!("message {at}: results after something else"));
    let expected = before.map(calls).unwrap_or_default();
    let found: Vec<_> = first.iter().map(|block| text(block, "tool_use_id")).collect();
    broken.unless(found == expected, || {
        format!("message {at}: results {found:?}, calls {expected:?}")
    });
    // A server's own tool that has not answered yet goes on only if nothing is said in between.
    let waits = before.is_some_and(|before| {
        let server =
            items(before, "content").iter().filter(|block| block["type"] == "server_tool_use");
        let ids: Vec<_> = server.map(|block| text(block, "id")).collect();
        let answered = |id: &&&str| {
            items(before, "content").iter().any(|block| text(block, "tool_use_id") == **id)
        };
        !ids.iter().all(|id| answered(&id))
    });
    broken.unless(!waits || all == blocks.len(), || {
        format!("message {at}: words while a server's tool runs")
    });
}

fn check_block(at: usize, block: &Value, broken: &mut BrokenRule) {
    let wrong = match text(block, "type") {
        "" => Some("a block without type"),
        "text" if text(block, "text").trim().is_empty() => Some("an empty text"),
        "thinking" if text(block, "signature").is_empty() => Some("a thought without signature"),
        "tool_use" if !block["input"].is_object() => Some("a call whose input is not an object"),
        "tool_use" if !is_plain(text(block, "name")) => Some("a call with a name that cannot be"),
        "tool_result" if block.get("content").is_some_and(|content| content == "") => {
            Some("an empty result")
        }
        "tool_result" if block.get("is_error").is_some_and(|flag| !flag.is_boolean()) => {
            Some("an odd is_error")
        }
        _ => None,
    };
    broken.unless(wrong.is_none(), || format!("message {at}: {}", wrong.unwrap_or_default()));
}
