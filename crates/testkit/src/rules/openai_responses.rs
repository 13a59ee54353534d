//! OpenAI's Responses API.

use std::collections::HashSet;

use serde_json::Value;

use super::{BrokenRule, is_plain, items, text, tools};

/// The most characters of a call's id.
const LONGEST_ID: usize = 64;

pub(super) fn check(body: &Value, broken: &mut BrokenRule) {
    broken.unless(body["store"] == false, || "the conversation is stored".to_owned());
    broken.unless(body.get("messages").is_none(), || "messages".to_owned());
    let offered = items(body, "tools");
    let functions = || offered.iter().filter(|tool| tool["type"] == "function");
    let input = items(body, "input");
    let found = || input.iter().flat_map(|item| items(item, "tools"));
    check_functions("tools", &functions().collect::<Vec<_>>(), broken);
    check_functions("a search", &found().collect::<Vec<_>>(), broken);
    let searches = offered.iter().filter(|tool| tool["type"] == "tool_search").count();
    let has_items = input.iter().any(|item| text(item, "type").starts_with("tool_search"));
    broken.unless(searches == 1 || searches == 0 && !has_items, || {
        format!("searches in the conversation, and {searches} tools that search")
    });
    let names = |tools: Vec<&Value>| -> HashSet<String> {
        tools.into_iter().map(|tool| text(tool, "name").to_owned()).collect()
    };
    let (defined, deferred) = (names(functions().collect()), names(found().collect()));
    for name in defined.intersection(&deferred) {
        broken.unless(false, || format!("{name} is defined twice"));
    }
    let choice = text(&body["tool_choice"], "name");
    broken.unless(choice.is_empty() || defined.contains(choice), || {
        format!("tool_choice {choice:?} is not in tools")
    });
    check_calls(input, &deferred, broken);
    for (at, item) in input.iter().enumerate() {
        check_item(at, item, input.get(at + 1), broken);
    }
}

/// Functions are no stricter than their schemas; only those that a search found are deferred.
fn check_functions(place: &str, functions: &[&Value], broken: &mut BrokenRule) {
    // A later search may find a tool again.
    let mut seen = HashSet::new();
    let once = functions.iter().filter(|tool| place == "tools" || seen.insert(text(tool, "name")));
    tools::check(once.map(|tool| (*tool, &tool["parameters"])), broken);
    for tool in functions {
        let name = text(tool, "name");
        broken.unless(tool["strict"] == false, || format!("{name} is strict by default"));
        let is_deferred = tool["defer_loading"] == true;
        broken.unless(is_deferred == (place != "tools"), || {
            format!("{name} of {place}: defer_loading is {}", tool["defer_loading"])
        });
    }
}

/// Each call has one result of its own kind, behind it and before the next message of the user; calls of deferred functions
/// have a namespace, others none.
fn check_calls(input: &[Value], deferred: &HashSet<String>, broken: &mut BrokenRule) {
    let mut waiting: Vec<(&str, &str)> = Vec::new();
    let mut ids = HashSet::new();
    for (at, item) in input.iter().enumerate() {
        let (kind, id) = (text(item, "type"), text(item, "call_id"));
        match kind {
            "function_call" | "tool_search_call" => {
                let length = id.chars().count();
                broken.unless((1..=LONGEST_ID).contains(&length) && ids.insert(id), || {
                    format!("item {at}: call id {id:?}")
                });
                waiting.push((kind, id));
                let name = text(item, "name");
                let namespace = if deferred.contains(name) { name } else { "" };
                broken.unless(text(item, "namespace") == namespace, || {
                    format!("item {at}: namespace {} of {name}", item["namespace"])
                });
            }
            "function_call_output" | "tool_search_output" => {
                let is_search = kind == "tool_search_output";
                let call = if is_search { "tool_search_call" } else { "function_call" };
                let place = waiting.iter().position(|waiting| *waiting == (call, id));
                broken.unless(place.is_some(), || format!("item {at}: no {call} {id:?} waits"));
                waiting.retain(|waiting| *waiting != (call, id));
            }
            _ if text(item, "role") == "user" => {
                broken.unless(waiting.is_empty(), || format!("item {at}: {waiting:?} wait"));
            }
            _ => {}
        }
    }
    broken.unless(waiting.is_empty(), || format!("{waiting:?} have no result"));
}

fn check_item(at: usize, item: &Value, next: Option<&Value>, broken: &mut BrokenRule) {
    let wrong = match text(item, "type") {
        "function_call" => {
            let arguments = serde_json::from_str::<Value>(text(item, "arguments"));
            let fits = arguments.is_ok_and(|arguments| arguments.is_object());
            (!fits || !is_plain(text(item, "name"))).then_some("a name or arguments that cannot be")
        }
        "tool_search_call" => {
            (!item["arguments"].is_object()).then_some("arguments that are not an object")
        }
        "function_call_output" => match &item["output"] {
            Value::String(_) => None,
            output => wrong_parts(output, &["input_text", "input_image"]),
        },
        "tool_search_output" => (!item["tools"].is_array()).then_some("a search without tools"),
        "reasoning" => wrong_reasoning(item, next),
        "" | "message" => match (text(item, "role"), &item["content"]) {
            ("user" | "system" | "developer", Value::String(_)) => None,
            ("user", parts) => wrong_parts(parts, &["input_text", "input_image"]),
            ("assistant", parts) => wrong_parts(parts, &["output_text", "refusal"]),
            _ => Some("a message without role or content"),
        },
        _ => None,
    };
    broken.unless(wrong.is_none(), || format!("item {at}: {}", wrong.unwrap_or_default()));
}

/// Reasoning is not stored, so it has to be there; and it belongs to what the model said or did next.
fn wrong_reasoning(item: &Value, next: Option<&Value>) -> Option<&'static str> {
    let is_there =
        !text(item, "encrypted_content").is_empty() || !items(item, "content").is_empty();
    let is_followed = next.is_some_and(|next| {
        let is_models = |kind: &str| kind.ends_with("_call") || kind == "reasoning";
        is_models(text(next, "type")) || text(next, "role") == "assistant"
    });
    match (is_there, is_followed) {
        (false, _) => Some("reasoning without content"),
        (_, false) => Some("reasoning without its following item"),
        _ => None,
    }
}

fn wrong_parts(parts: &Value, known: &[&str]) -> Option<&'static str> {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    let is_known = |part: &Value| known.contains(&text(part, "type"));
    (parts.is_empty() || !parts.iter().all(is_known)).then_some("content of parts that cannot be")
}
