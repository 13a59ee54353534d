//! The tools and what calling them gives.

use std::{
    collections::BTreeMap,
    env,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use crate::{Outcome, modes::Modes};

static CHANGED: AtomicBool = AtomicBool::new(false);

/// Changes the list of tools; returns whether that is news.
pub(crate) fn change() -> bool {
    !CHANGED.swap(true, Ordering::Relaxed)
}

pub(crate) fn list(modes: &Modes, params: &Value) -> Value {
    let tools = all(modes);
    let page: usize = params["cursor"].as_str().and_then(|page| page.parse().ok()).unwrap_or(0);
    let next = (page + 1).to_string();
    if modes.has("endless-pages") {
        return json!({"tools": [tool(&format!("tool_{page}"), json!({}))], "nextCursor": next});
    }
    if !modes.has("paginates") {
        return json!({"tools": tools});
    }
    match tools.get(page..) {
        Some([one]) => json!({"tools": [one]}),
        Some([one, ..]) => json!({"tools": [one], "nextCursor": next}),
        _ => json!({"tools": []}),
    }
}

fn all(modes: &Modes) -> Vec<Value> {
    let number = json!({"type": "number"});
    let mut tools = vec![
        tool("echo", json!({"text": {"type": "string"}})),
        tool("add", json!({"a": number, "b": number})),
    ];
    if modes.has("bad-tools") {
        tools.insert(1, json!({"name": "broken_schema", "inputSchema": {"type": 42}}));
        tools.insert(1, json!({"name": "no_schema"}));
        tools.insert(1, json!({"inputSchema": {"type": "object"}}));
        tools.insert(1, json!("not a tool"));
    }
    if modes.has("refuses-snake-case") {
        let mut strict = tool("set_level", json!({"deviceName": {"type": "string"}}));
        strict["inputSchema"]["required"] = json!(["deviceName"]);
        strict["inputSchema"]["additionalProperties"] = json!(false);
        tools.push(strict);
    }
    if modes.has("env") {
        tools.push(tool("environment", json!({})));
    }
    if modes.has("asks") {
        let params = json!({"type": "object"});
        tools.push(tool("ask_client", json!({"method": {"type": "string"}, "params": params})));
    }
    if CHANGED.load(Ordering::Relaxed) {
        tools.push(tool("late", json!({})));
    }
    let many = 1..=modes.number("many-tools", 1000).unwrap_or_default();
    tools.extend(many.map(|number| tool(&format!("tool_{number}"), json!({}))));
    if modes.has("vendor-fields") {
        for tool in &mut tools {
            tool["x-vendor"] = json!({"kept": true});
        }
    }
    tools
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the properties in place")]
fn tool(name: &str, properties: Value) -> Value {
    let schema = json!({"type": "object", "properties": properties});
    json!({"name": name, "description": format!("The tool {name}."), "inputSchema": schema})
}

pub(crate) fn call(modes: &Modes, params: &Value) -> Outcome {
    let arguments = &params["arguments"];
    if modes.has("rpc-error") {
        return Err((-32000, "the device is on fire"));
    }
    if modes.has("is-error") {
        return Ok(json!({"content": [text("the lamp is broken")], "isError": true}));
    }
    if let Some(many) = modes.number("binary", 1) {
        let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
        let images = std::iter::repeat_n(image, usize::try_from(many).unwrap_or_default());
        let content: Vec<_> = images.chain([text("a picture")]).collect();
        return Ok(json!({"content": content}));
    }
    if modes.has("vendor-fields") {
        let hologram = json!({"type": "hologram", "depth": 12_345_678_901_234_567_890_u64});
        return Ok(json!({"content": [hologram, text("kept")], "x-vendor": {"b": 1, "a": 2}}));
    }
    if let Some(megabytes) = modes.number("huge-answer", 2) {
        let length = usize::try_from(megabytes).unwrap_or_default() * 1_000_000;
        return Ok(json!({"content": [text(&"x".repeat(length))]}));
    }
    match params["name"].as_str().unwrap_or_default() {
        "add" => Ok(add(arguments)),
        "set_level" if arguments.get("deviceName").is_none() => {
            Ok(json!({"content": [text("deviceName is missing")], "isError": true}))
        }
        "set_level" => Ok(json!({"content": [text(&format!("set {}", arguments["deviceName"]))]})),
        "environment" => Ok(json!({"content": [text(&environment().to_string())]})),
        "late" => Ok(json!({"content": [text("better late")]})),
        "echo" => {
            let said =
                arguments["text"].as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            Ok(json!({"content": [text(&said)]}))
        }
        _ => Err((-32602, "Unknown tool")),
    }
}

fn add(arguments: &Value) -> Value {
    let number = |name: &str| arguments[name].as_f64().unwrap_or_default();
    let sum = number("a") + number("b");
    json!({"content": [text(&sum.to_string())], "structuredContent": {"sum": sum}})
}

fn environment() -> Value {
    let variables: BTreeMap<String, String> = env::vars().collect();
    json!({"variables": variables, "directory": env::current_dir().unwrap_or_default()})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
