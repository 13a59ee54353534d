//! OpenAI chat completions.

use std::collections::HashSet;

use serde_json::Value;

use super::{BrokenRule, is_plain, items, text, tools};

pub(super) fn check(body: &Value, broken: &mut BrokenRule) {
    let limits = ["max_tokens", "max_completion_tokens"].map(|key| body.get(key).is_some());
    broken.unless(limits != [true, true], || "two limits of tokens".to_owned());
    let offered = items(body, "tools").iter().map(|tool| &tool["function"]);
    tools::check(offered.map(|function| (function, &function["parameters"])), broken);
    let tools = body.get("tools").and_then(Value::as_array);
    broken.unless(tools.is_none_or(|tools| !tools.is_empty()), || {
        "an empty list of tools".to_owned()
    });
    let mut waiting: Vec<&str> = Vec::new();
    let mut ids = HashSet::new();
    for (at, message) in items(body, "messages").iter().enumerate() {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            let expected = (!waiting.is_empty()).then(|| waiting.remove(0));
            broken.unless(expected == Some(id), || {
                format!("message {at}: a result of {id:?}, not of {expected:?}")
            });
            broken.unless(message["content"].is_string(), || {
                format!("message {at}: a result that is not text")
            });
            continue;
        }
        broken.unless(waiting.is_empty(), || format!("message {at}: {waiting:?} have no result"));
        waiting.clear();
        match role {
            "assistant" => check_assistant(at, message, &mut waiting, &mut ids, broken),
            "system" | "user" => {
                broken.unless(!message["content"].is_null(), || format!("message {at} is empty"));
            }
            other => broken.unless(false, || format!("message {at}: role {other:?}")),
        }
    }
    broken.unless(waiting.is_empty(), || format!("{waiting:?} have no result"));
}

fn check_assistant<'a>(
    at: usize,
    message: &'a Value,
    waiting: &mut Vec<&'a str>,
    ids: &mut HashSet<&'a str>,
    broken: &mut BrokenRule,
) {
    let calls = items(message, "tool_calls");
    let content = &message["content"];
    let fits = content.is_string() || content.is_null() && !calls.is_empty();
    broken.unless(fits, || format!("message {at}: content {content}"));
    broken.unless(message.get("tool_calls").is_none() || !calls.is_empty(), || {
        format!("message {at}: no calls in tool_calls")
    });
    for call in calls {
        let (id, function) = (text(call, "id"), &call["function"]);
        broken.unless(!id.is_empty() && ids.insert(id), || format!("message {at}: call id {id:?}"));
        broken.unless(call["type"] == "function", || format!("message {at}: a call without type"));
        broken.unless(is_plain(text(function, "name")), || {
            format!("message {at}: a name that cannot be")
        });
        let arguments = serde_json::from_str::<Value>(text(function, "arguments"));
        broken.unless(arguments.is_ok_and(|args| args.is_object()), || {
            format!("message {at}: arguments that are not an object")
        });
        waiting.push(id);
    }
}
