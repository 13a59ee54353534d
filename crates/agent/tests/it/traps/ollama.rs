//! Ollama's, and those of Qwen's templates.

use serde_json::{Value, json};
use switchboard_agent::AgentEvent;
use switchboard_models::Provider;
use switchboard_testkit::Reply;

use super::{check_table, spring};

/// Lines with these messages and an end for this reason.
fn stream(messages: &[Value], reason: &str) -> Reply {
    let mut lines: Vec<_> = messages
        .iter()
        .map(|message| json!({"message": message, "done": false}).to_string())
        .collect();
    // What is cut at `num_predict` has as many tokens.
    let written = if reason == "length" { 100 } else { 5 };
    let end = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 10, "eval_count": written});
    lines.push(end.to_string());
    Reply::lines(&lines)
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn called(calls: Value) -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": calls})
}

fn weather(arguments: Value) -> Value {
    json!({"function": {"index": 0, "name": "get_weather", "arguments": arguments}})
}

fn done() -> Reply {
    stream(&[said("Done.")], "stop")
}

// ML-3, ML-5
#[tokio::test]
async fn calls() {
    let (oslo, rome) = (weather(json!({"city": "Oslo"})), weather(json!({"city": "Rome"})));
    let with_id = |id: &str, call: &Value| json!({"id": id, "function": call["function"]});
    let both = "15 in Oslo | 15 in Rome | Done.";
    let row = |messages: &[Value]| vec![stream(messages, "stop")];
    let everything = json!({"role": "assistant", "thinking": "Hm", "content": "On it.", "tool_calls": [oslo.clone()]});
    let at_the_end =
        json!({"message": called(json!([oslo, rome])), "done": true, "done_reason": "stop"});
    let full = json!({"message": called(json!([oslo])), "done": true, "done_reason": "length", "eval_count": 5});
    let cut = "Error: Tool 'get_weather' was not run: the turn was cut by its token limit, so the call may be incomplete; make it again, with less text | Done.";
    check_table(Provider::Ollama, &done(), vec![
        ("no ids, all indexes 0, a line each", row(&[called(json!([oslo])), called(json!([rome]))]), both),
        ("no ids, one line", row(&[called(json!([oslo, rome]))]), both),
        ("one id for two", row(&[called(json!([with_id("x", &oslo), with_id("x", &rome)]))]), both),
        ("thoughts, text and a call in one line", row(&[everything]), "15 in Oslo | Done."),
        ("all calls with the end", vec![Reply::lines(&[at_the_end.to_string()])], both),
        ("arguments as text", row(&[called(json!([weather(json!("{\"city\":\"Oslo\"}"))]))]), "15 in Oslo | Done."),
        ("arguments null", row(&[called(json!([{"function": {"name": "home_light", "arguments": null}}]))]), "on | Done."),
        ("no arguments", row(&[called(json!([{"function": {"name": "home_light"}}]))]), "on | Done."),
        ("broken arguments", row(&[called(json!([weather(json!("{\"ci"))]))]),
            "Error: Invalid parameters: the arguments are not a JSON object: EOF while parsing a string at line 1 column 4. Required parameters: city (string) | Done."),
        ("a tool that nobody offered", row(&[called(json!([{"function": {"name": "delete_all", "arguments": {}}}]))]),
            "Error: Unknown tool \"delete_all\" | Done."),
        ("cut", vec![stream(&[called(json!([oslo]))], "length")], cut),
        ("cut by num_ctx", vec![Reply::lines(&[full.to_string()])],
            "Error: Tool 'get_weather' was not run: the conversation no longer fits the model | Answer"),
        ("the same id in the next turn", vec![
            stream(&[called(json!([with_id("x", &oslo)]))], "stop"), stream(&[called(json!([with_id("x", &rome)]))], "stop")], both),
    ]).await;
}

// ML-2: every way in which Qwen's calls leak.
#[tokio::test]
async fn leaks() {
    let call = r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#;
    let tags = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>";
    let row = |text: String| vec![stream(&[said(&text)], "stop")];
    let found = "15 in Oslo | Done.";
    let unknown = r#"<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>"#;
    let invalid = r#"<tool_call>{"name": "get_weather", "arguments": {"city": 1}}</tool_call>"#;
    let quoted = format!("To look it up I would write <tool_call>{call}</tool_call>, and wait.");
    let thinking = json!({"role": "assistant", "content": "", "thinking": format!("I should <tool_call>{call}</tool_call>")});
    check_table(
        Provider::Ollama,
        &done(),
        vec![
            ("Hermes style", row(format!("<tool_call>\n{call}\n</tool_call>")), found),
            (
                "two of them",
                row(format!(
                    "<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{call}\n</tool_call>"
                )),
                "15 in Oslo | 15 in Oslo | Done.",
            ),
            ("the opening tag is missing", row(format!("{call}\n</tool_call>")), found),
            ("the closing tag is missing", row(format!("<tool_call>\n{call}")), found),
            ("bare JSON", row(call.to_owned()), found),
            (
                "parameters instead of arguments",
                row(call.replace("arguments", "parameters")),
                found,
            ),
            (
                "encoded twice",
                row(r#"{"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}"#.to_owned()),
                found,
            ),
            ("XML style", row(format!("<tool_call>\n{tags}\n</tool_call>")), found),
            ("XML style without a wrapper", row(tags.to_owned()), found),
            (
                "inside a thought that is not closed",
                row(format!("<think>I should <tool_call>{call}</tool_call>")),
                found,
            ),
            ("inside thoughts, and nothing else", vec![stream(&[thinking], "stop")], found),
            ("quoted in prose", row(quoted.clone()), &quoted),
            ("a name that is not known stays text", row(unknown.to_owned()), unknown),
            ("arguments that do not validate stay text", row(invalid.to_owned()), invalid),
        ],
    )
    .await;
}

// ML-1, ML-2, ML-7
#[tokio::test]
async fn endings() {
    let broken =
        json!({"error": "error parsing tool call: raw='{\"a', err=unexpected end of JSON input"})
            .to_string();
    let start = json!({"message": said("Hi"), "done": false}).to_string();
    let refused = |status: u16, text: &str| vec![Reply::json(status, &json!({"error": text}))];
    let empty = || stream(&[said("")], "stop");
    check_table(
        Provider::Ollama,
        &done(),
        vec![
            ("text", vec![stream(&[said("Hi")], "stop")], "Hi"),
            ("cut text", vec![stream(&[said("Hi")], "length")], "Hi"),
            ("a swallowed call", vec![empty()], "Done."),
            ("swallowed twice", vec![empty(), empty()], ""),
            ("the model's broken call, in a line", vec![Reply::lines(&[&broken])], "Done."),
            (
                "the model's broken call, as HTTP 500",
                refused(500, "error parsing tool call: raw='{'"),
                "Done.",
            ),
            ("twice", vec![Reply::lines(&[&broken]), Reply::lines(&[&broken])], "BrokenCall"),
            ("after something was shown", vec![Reply::lines(&[&start, &broken])], "BrokenCall"),
            ("it just ends", vec![Reply::lines(&[&start])], "Cut"),
            ("no such model", refused(404, "model 'm' not found"), "Rejected"),
            ("no tools", refused(400, "m does not support tools"), "Rejected"),
            ("no thoughts", refused(400, "\"m\" does not support thinking"), "Rejected"),
            (
                "too long, and it says so",
                refused(400, "the input length exceeds the context length"),
                "ContextFull",
            ),
        ],
    )
    .await;
}

// ML-2, RS-6: order and names link results to calls, failures say what they are, images have a place.
#[tokio::test]
async fn what_goes_back() {
    let calls = json!([
        {"function": {"name": "camera", "arguments": {}}}, weather(json!({})), {"function": {"name": "home_light", "arguments": {}}}]);
    let thought =
        json!({"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": calls});
    let sprung = spring(Provider::Ollama, vec![stream(&[thought], "stop"), done()], true).await;
    let messages = &sprung.sent[1]["messages"];
    assert_eq!(messages[2]["thinking"], "Hm");
    let names: Vec<_> = (3..6).map(|at| messages[at]["tool_name"].clone()).collect();
    assert_eq!(names, ["camera", "get_weather", "home_light"]);
    assert_eq!(messages[3]["images"], json!(["AAAA"]));
    assert!(messages[4]["content"].as_str().unwrap().starts_with("Error: "), "{messages}");
    for key in ["tool_choice", "parallel_tool_calls", "max_tokens"] {
        assert!(sprung.sent[1].get(key).is_none(), "{key}");
    }
    assert_eq!(sprung.sent[1]["options"]["num_predict"], json!(100));
}

// ML-2: a prompt that was cut with HTTP 200 is noticed.
#[tokio::test]
async fn a_cut_prompt() {
    let long = "word ".repeat(3000);
    let call = called(json!([weather(json!({"city": long}))]));
    let sprung = spring(Provider::Ollama, vec![stream(&[call], "stop"), done()], true).await;
    let warned =
        |event: &AgentEvent| matches!(event, AgentEvent::Warning(text) if text.contains("num_ctx"));
    assert!(sprung.events.iter().any(warned), "{:?}", sprung.events);
}

// ML-1: in one piece.
#[tokio::test]
async fn whole_answers() {
    let answer = |message: Value| {
        Reply::new(
            200,
            "application/json; charset=utf-8",
            json!({"message": message, "done": true, "done_reason": "stop"}).to_string(),
        )
    };
    let replies =
        vec![answer(called(json!([weather(json!({"city": "Oslo"}))]))), answer(said("Done."))];
    assert_eq!(spring(Provider::Ollama, replies, false).await.told, "15 in Oslo | Done.");
}
