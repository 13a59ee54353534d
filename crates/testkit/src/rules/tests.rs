use serde_json::json;

use super::*;

/// A body that the provider takes.
fn right(provider: &str) -> Value {
    match provider {
        "anthropic" => {
            json!({"max_tokens": 9, "tools": [{"name": "f", "input_schema": {"type": "object"}}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"}, {"type": "tool_result", "tool_use_id": "b"}]}]})
        }
        "openai" => {
            json!({"tools": [{"function": {"name": "f", "parameters": {"type": "object"}}}], "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"}]})
        }
        "openai-responses" => {
            let function = json!({"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": false});
            let mut found = function.clone();
            found["name"] = json!("g");
            found["defer_loading"] = json!(true);
            json!({"store": false, "tools": [{"type": "tool_search", "execution": "client"}, function], "input": [
                {"role": "user", "content": "x"},
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
                {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
                {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [found]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "function_call", "call_id": "b", "name": "g", "namespace": "g", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "1"},
                {"type": "function_call_output", "call_id": "b", "output": "2"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}]})
        }
        _ => json!({"options": {"num_ctx": 9}, "truncate": false, "shift": false, "stream": true,
            "tools": [{"function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}],
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
                {"role": "tool", "tool_name": "f", "content": "1"}]}),
    }
}

/// Returns the rules that a body breaks once `instead` is put at `pointer`; in a list, `null` removes the item.
fn spoilt(provider: &str, pointer: &str, instead: Value) -> String {
    let mut body = right(provider);
    assert_eq!(broken(provider, &body), Vec::<String>::new());
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.insert(key.to_owned(), instead)),
        Value::Array(all) if instead.is_null() => drop(all.remove(key.parse().unwrap())),
        Value::Array(all) => all.insert(key.parse().unwrap(), instead),
        _ => unreachable!(),
    }
    broken(provider, &body).join("; ")
}

fn assert_each_is_found<const N: usize>(provider: &str, table: [(&str, Value, &str); N]) {
    for (pointer, instead, said) in table {
        let found = spoilt(provider, pointer, instead);
        assert!(found.contains(said), "{provider} {pointer}: {found:?}");
    }
}

#[test]
fn each_rule_of_anthropic_can_be_broken() {
    let table = [
        ("/max_tokens", json!(0), "no max_tokens"),
        ("/messages/2/content/1", Value::Null, "results [\"a\"], calls [\"a\", \"b\"]"),
        (
            "/messages/2/content/0",
            json!({"type": "text", "text": "x"}),
            "results after something else",
        ),
        ("/messages/2/content/1/tool_use_id", json!("x"), "calls [\"a\", \"b\"]"),
        ("/messages/1/content/1/id", json!("a"), "call id \"a\""),
        ("/messages/1/content/1/id", json!("a.b"), "call id \"a.b\""),
        ("/messages/1/content/0/input", json!("{}"), "input is not an object"),
        ("/messages/0/content/0/text", json!(" "), "an empty text"),
        (
            "/messages/1",
            json!({"role": "user", "content": [{"type": "text", "text": "y"}]}),
            "is not assistant's",
        ),
        (
            "/messages/3",
            json!({"role": "assistant", "content": [{"type": "text", "text": "y"}]}),
            "speak last",
        ),
        (
            "/messages/1/content/0",
            json!({"type": "thinking", "thinking": "x"}),
            "without signature",
        ),
        ("/tools", json!([]), "calls without tools"),
        ("/tools/0/defer_loading", json!(true), "all tools are deferred"),
        (
            "/tools/0",
            json!({"name": "g", "input_schema": {"type": "object"}, "defer_loading": true, "cache_control": {}}),
            "a deferred tool with cache_control",
        ),
        (
            "/messages/2/content/0/content",
            json!([{"type": "tool_reference", "tool_name": "f"}]),
            "a reference to \"f\"",
        ),
        ("/tools/0/name", json!("a.b"), "tool name"),
        ("/tools/0/input_schema/anyOf", json!([]), "anyOf at the top"),
    ];
    assert_each_is_found("anthropic", table);
}

#[test]
fn each_rule_of_openai_can_be_broken() {
    let table = [
        ("/messages/3", Value::Null, "[\"b\"] have no result"),
        ("/messages/2/tool_call_id", json!("b"), "a result of \"b\", not of Some(\"a\")"),
        ("/messages/3", json!({"role": "user", "content": "x"}), "[\"b\"] have no result"),
        ("/messages/2/content", json!([]), "not text"),
        (
            "/messages/1/tool_calls/0/function/arguments",
            json!("{"),
            "arguments that are not an object",
        ),
        ("/messages/0/role", json!("bot"), "role \"bot\""),
    ];
    assert_each_is_found("openai", table);
}

#[test]
fn each_rule_of_openai_responses_can_be_broken() {
    let found = json!({"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": false, "defer_loading": true});
    let table = [
        ("/store", json!(true), "is stored"),
        ("/messages", json!([]), "messages"),
        ("/tools/0", Value::Null, "and 0 tools that search"),
        ("/tools/0", json!({"type": "tool_search"}), "and 2 tools that search"),
        ("/tools/1/strict", Value::Null, "f is strict"),
        ("/tools/1/defer_loading", json!(true), "f of tools: defer_loading"),
        ("/tools/1/name", json!("a.b"), "tool name"),
        ("/tool_choice", json!({"type": "function", "name": "g"}), "tool_choice \"g\""),
        ("/input/3/tools/0/defer_loading", json!(false), "g of a search: defer_loading"),
        ("/input/3/tools/1", found, "f is defined twice"),
        ("/input/3", Value::Null, "(\"tool_search_call\", \"s\")"),
        ("/input/3/type", json!("function_call_output"), "no function_call \"s\" waits"),
        ("/input/2/arguments", json!("{}"), "arguments that are not an object"),
        ("/input/4/arguments", json!("{"), "arguments that cannot be"),
        ("/input/4/namespace", json!("f"), "namespace \"f\" of f"),
        ("/input/5/namespace", Value::Null, "namespace null of g"),
        ("/input/5/call_id", json!("a"), "call id \"a\""),
        ("/input/5/call_id", json!("x".repeat(65)), "call id \"xxx"),
        ("/input/7", Value::Null, "[(\"function_call\", \"b\")] have no result"),
        ("/input/7", json!({"role": "user", "content": "x"}), "[(\"function_call\", \"b\")] wait"),
        ("/input/7/output", json!([{"type": "output_text", "text": "x"}]), "parts that cannot be"),
        ("/input/8/content", json!("x"), "parts that cannot be"),
        ("/input/8/content", json!([]), "parts that cannot be"),
        ("/input/0/role", json!("bot"), "without role"),
        ("/input/1/encrypted_content", json!(""), "reasoning without content"),
        ("/input/2", json!({"role": "user", "content": "x"}), "without its following item"),
    ];
    assert_each_is_found("openai-responses", table);
}

#[test]
fn each_rule_of_ollama_can_be_broken() {
    let table = [
        (
            "/messages/1/tool_calls/0/function/arguments",
            json!("{}"),
            "arguments that are not an object",
        ),
        ("/messages/2", Value::Null, "[\"f\"] have no result"),
        ("/messages/2/tool_name", json!("g"), "a result of \"g\""),
        ("/options/num_ctx", Value::Null, "no num_ctx"),
        ("/shift", Value::Null, "shift is left to the server"),
        ("/tools/0/function/parameters/properties/a/format", json!("x"), "format would be dropped"),
    ];
    assert_each_is_found("ollama", table);
}
