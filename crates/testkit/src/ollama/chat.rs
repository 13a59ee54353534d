//! `/api/chat`: what is refused, and what is said.

use std::time::Duration;

use serde_json::{Value, json};

use super::{OllamaAnswer, OllamaModel, SLOW, refusal};

/// Up to which number it counts: far longer than anybody waits.
const MOST: u32 = 1_000;

pub(super) fn answer(body: &Value, model: &OllamaModel) -> OllamaAnswer {
    if let Some(refused) = refused(body, model) {
        return refused;
    }
    let (message, is_slow) = next_message(body, model);
    let prompt_tokens = tokens(&body["messages"]) + tokens(&body["tools"]);
    let words = words(&message);
    let most = body["options"]["num_predict"].as_u64().unwrap_or(u64::MAX);
    let written: Vec<_> = words.iter().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
    let reason = if written.len() < words.len() { "length" } else { "stop" };
    let mut end = json!({"model": model.name, "created_at": "2026-11-15T07:33:53.013447508Z",
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "total_duration": 1, "load_duration": 1, "prompt_eval_count": prompt_tokens,
        "prompt_eval_duration": 1, "eval_count": written.len().max(1), "eval_duration": 1});
    if body["stream"] == false {
        end["message"] = message;
        if end["message"].get("tool_calls").is_none() {
            end["message"]["content"] =
                json!(written.iter().map(|word| word.as_str()).collect::<String>());
        }
        return OllamaAnswer::Whole(200, end);
    }
    let line = |message: Value| json!({"model": model.name, "message": message, "done": false});
    let mut lines: Vec<_> = match message.get("tool_calls") {
        Some(_) => vec![line(message.clone())],
        None => {
            let piece = |word| line(json!({"role": "assistant", "content": word}));
            written.into_iter().map(piece).collect()
        }
    };
    lines.push(end);
    OllamaAnswer::Lines(lines, if is_slow { SLOW } else { Duration::ZERO })
}

/// How Ollama refuses, in its order.
fn refused(body: &Value, model: &OllamaModel) -> Option<OllamaAnswer> {
    let has = |key: &str| body[key].as_array().is_some_and(|list| !list.is_empty());
    let messages = body["messages"].as_array()?;
    let has_images = messages.iter().any(|message| message.get("images").is_some());
    if has("tools") && !model.can("tools") {
        let text = format!("registry.ollama.ai/library/{} does not support tools", model.name);
        return Some(refusal(400, &text));
    }
    if body["think"] == true && !model.can("thinking") {
        return Some(refusal(400, &format!("\"{}\" does not support thinking", model.name)));
    }
    // What its runner says goes on as text within text.
    let runner = |message: &str| {
        let inner =
            json!({"error": {"code": 400, "message": message, "type": "invalid_request_error"}});
        refusal(400, &inner.to_string())
    };
    if has_images && !model.can("vision") {
        let text = "Multimodal data provided, but model does not support multimodal requests.";
        return Some(runner(text));
    }
    let (size, most) =
        (tokens(&body["messages"]) + tokens(&body["tools"]), &body["options"]["num_ctx"]);
    let most = most.as_u64().unwrap_or(4096).min(8192);
    (size > most).then(|| {
        runner(&format!("request ({size} tokens) exceeds the available context size ({most} tokens), try increasing it"))
    })
}

/// What the model says, and whether it takes its time.
fn next_message(body: &Value, model: &OllamaModel) -> (Value, bool) {
    let text = |content: String| json!({"role": "assistant", "content": content});
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.last().unwrap_or(&Value::Null);
    let heard = last["content"].as_str().unwrap_or_default();
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    if last["role"] == "tool" {
        return (text(format!("The tool says: {heard}")), false);
    }
    if heard.contains("weather") && names.contains(&"get_weather") {
        return (call("get_weather", &json!({"city": "Paris"})), false);
    }
    let lower = heard.to_lowercase();
    let mut habits = model.habits.iter();
    if let Some(habit) =
        habits.find(|habit| lower.contains(habit.words) && names.contains(&habit.tool))
    {
        return (call(habit.tool, &habit.arguments), false);
    }
    if heard.contains("Count") {
        let numbers: Vec<_> = (1..=MOST).map(|number| number.to_string()).collect();
        return (text(numbers.join(" ")), true);
    }
    if heard.contains("names of the tools") {
        return (text(names.join(", ")), false);
    }
    (text(format!("You said: {heard}")), false)
}

/// A message with one call and no text.
fn call(tool: &str, arguments: &Value) -> Value {
    let function = json!({"index": 0, "name": tool, "arguments": arguments});
    let call = json!({"id": "call_odionbcs", "function": function});
    json!({"role": "assistant", "content": "", "tool_calls": [call]})
}

/// Words with the space before them, as models write them.
fn words(message: &Value) -> Vec<String> {
    let text = message["content"].as_str().unwrap_or_default();
    let spaced = text.split(' ').enumerate();
    spaced.map(|(at, word)| if at == 0 { word.to_owned() } else { format!(" {word}") }).collect()
}

/// About as many tokens as a value has.
fn tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4).unwrap_or(u64::MAX)
}
