use serde_json::json;
use switchboard_toolcall::ToolSpec;

use super::*;
use crate::{Provider, lower};

/// The calls that an answer is, as `name args`.
fn check(content: &str) -> Option<Vec<String>> {
    check_with(content, "")
}

fn check_with(content: &str, thinking: &str) -> Option<Vec<String>> {
    let light = ToolSpec::new(
        "home.light",
        "",
        json!({"type": "object", "properties": {
            "room": {"type": "string"}, "level": {"type": "integer"}, "on": {"type": ["boolean", "null"]},
            "tags": {"anyOf": [{"type": "array"}, {"type": "string"}]}}, "required": ["room"]}),
    );
    let lowered = lower::tools(Provider::Ollama, &[&light]);
    // Stands for the executor's own validation.
    let validate = |name: &str, args: &Value| name == "home.light" && args["room"].is_string();
    let found = calls(content, thinking, &lowered, &validate)?;
    assert!(found.iter().all(|call| call.recovered));
    let calls = found
        .iter()
        .map(|call| format!("{} {}", call.name, serde_json::to_string(&call.args).unwrap()));
    Some(calls.collect())
}

fn one(args: &str) -> Option<Vec<String>> {
    Some(vec![format!("home.light {args}")])
}

// ML-2: the cases of the wire reference.
#[test]
fn calls_in_json_are_found() {
    let call = r#"{"name": "home_light", "arguments": {"room": "hall"}}"#;
    let hall = r#"{"room":"hall"}"#;
    assert_eq!(check(&format!("<tool_call>\n{call}\n</tool_call>")), one(hall));
    assert_eq!(check(&format!("{call}\n</tool_call>")), one(hall));
    assert_eq!(check(call), one(hall));
    assert_eq!(check(&format!("<think>hm</think>\n\n{call}")), one(hall));
    assert_eq!(check(&format!("Hm, I should.\n</think>\n\n{call}")), one(hall));
    assert_eq!(check(&format!("<think>I should <tool_call>{call}</tool_call>")), one(hall));
    assert_eq!(check_with("", &format!("I should\n<tool_call>\n{call}\n</tool_call>")), one(hall));
    assert_eq!(check(r#"{"name": "home_light", "parameters": {"room": "hall"}}"#), one(hall));
    let twice = r#"{"name": "home_light", "arguments": "{\"room\": \"hall\"}"}"#;
    assert_eq!(check(&format!("<tool_call>{twice}</tool_call>")), one(hall));
    let two = format!("<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{call}\n</tool_call>");
    assert_eq!(check(&two).unwrap().len(), 2);
    assert_eq!(check(&format!("<tool_call>\n{call}\n<tool_call>\n{call}")).unwrap().len(), 2);
    assert_eq!(check(&format!("{call}\n{call}")).unwrap().len(), 2);
}

// ML-2: a call quoted in prose is prose, wherever the prose stands.
#[test]
fn quoted_calls_are_prose() {
    let call = r#"{"name": "home_light", "arguments": {"room": "hall"}}"#;
    let tagged = format!("<tool_call>{call}</tool_call>");
    let xml = "<function=home_light><parameter=room>hall</parameter></function>";
    for text in [
        format!("To turn it on, write {tagged}."),
        format!("Sure.\n{tagged}"),
        format!("{tagged}\nThat is what I would send."),
        format!("{tagged} or {tagged}"),
        format!("- {tagged}"),
        format!("`{tagged}`"),
        format!("```\n{tagged}\n```"),
        format!("```json\n{call}\n```"),
        format!("I will.\n{call}\n</tool_call>"),
        format!("<tool_call>like this: {call}</tool_call>"),
        format!("<think>hm</think>Say {tagged}"),
        format!("After </think>\n{tagged}"),
        format!("<think>hm</think>After\n</think>\n{tagged}"),
        format!("On it. {xml}"),
        format!("{xml} does it."),
        format!("<tool_call>Write {xml}</tool_call>"),
        format!("<tool_call>{xml} so</tool_call>"),
        "<function=home_light> is how it begins".to_owned(),
        "<function=home_light><parameter=room>hall is a value, and so on".to_owned(),
        "<function=home_light>so: <parameter=room>hall</parameter></function>".to_owned(),
        "<function=home_light><parameter=room>hall</parameter> so</function>".to_owned(),
    ] {
        assert_eq!(check(&text), None, "{text}");
    }
    // In thoughts too: what is thought after a call was not swallowed by it.
    assert_eq!(check_with("", &format!("I could {tagged}, but I was told not to.")), None);
    assert_eq!(check(&format!("<think>Not {tagged}, surely")), None);
}

// ML-2
#[test]
fn calls_in_tags_are_found_and_get_their_types() {
    let call = "<function=home_light>\n<parameter=room>\nhall\n</parameter>\n<parameter=level>\n40\n</parameter>\n\
                <parameter=on>\nTrue\n</parameter>\n<parameter=tags>\n[\"a\"]\n</parameter>\n</function>";
    let args = r#"{"room":"hall","level":40,"on":true,"tags":["a"]}"#;
    assert_eq!(check(&format!("<tool_call>\n{call}\n</tool_call>")), one(args));
    assert_eq!(check(&format!("{call}\n</tool_call>")), one(args));
    let untyped =
        "<function=home_light><parameter=room>\n\n42\n\n</parameter><parameter=on>null</parameter>";
    assert_eq!(check(untyped), one(r#"{"room":"\n42\n","on":null}"#));
    assert_eq!(check(&format!("<tool_call>{call}\n{call}</tool_call>")).unwrap().len(), 2);
}

// ML-2: guarded.
#[test]
fn everything_else_stays_text() {
    for text in [
        "",
        "Hello",
        r#"{"temperature": 21}"#,
        r#"<tool_call>{"name": "unknown", "arguments": {}}</tool_call>"#,
        r#"<tool_call>{"name": "home_light", "arguments": {"room": 1}}</tool_call>"#,
        r#"<tool_call>{"name": "home_light", "arguments": {"room": "ha"#,
        r#"Say {"name": "home_light", "arguments": {"room": "hall"}} to do it."#,
        r#"<tool_call>{"name":"home_light","arguments":{"room":"a"}}</tool_call><tool_call>{"name":"x","arguments":{}}</tool_call>"#,
        "<function=unknown></function>",
        "</tool_call>",
        "<tool_call>",
        "```",
    ] {
        assert_eq!(check(text), None, "{text}");
    }
    // Thoughts are only searched if there is no other text, and only for tags.
    let call = r#"{"name": "home_light", "arguments": {"room": "hall"}}"#;
    assert_eq!(check_with("Done.", &format!("<tool_call>{call}</tool_call>")), None);
    assert_eq!(check_with("", call), None);
}
