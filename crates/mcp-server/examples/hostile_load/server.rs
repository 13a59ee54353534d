//! Both servers, on stdin and stdout: one that answers, and one that does its worst.

use std::{
    io::{BufRead, Write, stdin, stdout},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use serde_json::{Map, Value, json};

use crate::Failure;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Good,
    Hostile,
}

/// How many characters the largest answer has: with what is around it, nearly 64 MiB.
const LARGEST: usize = (64 << 20) - 4096;

/// Serves until nobody writes any more.
pub(crate) fn run(kind: Kind) -> Result<(), Failure> {
    let (floods, lists) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0));
    let mut large = None;
    if kind == Kind::Hostile {
        let floods = floods.clone();
        thread::spawn(move || flood(&floods));
    }
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else { continue };
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "serverInfo": {"name": "load", "version": "1"},
                "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            }),
            "tools/list" if kind == Kind::Good => json!({"tools": [tool("echo", json!({
                "type": "object", "properties": {"text": {"type": "string"}}
            }))]}),
            "tools/list" => json!({"tools": worst_tools(lists.fetch_add(1, Ordering::Relaxed))}),
            "tools/call" => {
                let name = request["params"]["name"].as_str().unwrap_or_default();
                match name {
                    "begin" => floods.store(true, Ordering::Relaxed),
                    "end" => floods.store(false, Ordering::Relaxed),
                    _ => {}
                }
                if name == "big" {
                    let text = large.get_or_insert_with(|| "x".repeat(LARGEST));
                    write(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
                    ))?;
                    continue;
                }
                let text = request["params"]["arguments"].to_string();
                json!({"content": [{"type": "text", "text": text}]})
            }
            "ping" => json!({}),
            _ => {
                say(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
                )?;
                continue;
            }
        };
        say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
    }
    Ok(())
}

/// Set while an answer is to be written, so that the flood lets it pass.
static ANSWERS: AtomicBool = AtomicBool::new(false);

fn say(message: &Value) -> Result<(), Failure> {
    write(&message.to_string())
}

fn write(line: &str) -> Result<(), Failure> {
    ANSWERS.store(true, Ordering::Relaxed);
    let mut stdout = stdout().lock();
    ANSWERS.store(false, Ordering::Relaxed);
    stdout.write_all(line.as_bytes())?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Says as fast as it can that everything has changed, and more that nobody asked for.
fn flood(floods: &AtomicBool) {
    let lines = [
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "x".repeat(200)}}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}),
    ];
    let lines = lines.map(|line| format!("{line}\n")).concat().repeat(100);
    loop {
        match floods.load(Ordering::Relaxed) {
            true if ANSWERS.load(Ordering::Relaxed) => thread::yield_now(),
            true if stdout().lock().write_all(lines.as_bytes()).is_err() => return,
            true => {}
            false => thread::park_timeout(std::time::Duration::from_millis(50)),
        }
    }
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "description": "Does what it says.", "inputSchema": schema})
}

/// Tools that are usable, and many whose schemas cost as much as schemas can. No list is like the one before.
fn worst_tools(list: u64) -> Vec<Value> {
    let plain = || json!({"type": "object"});
    let mut tools = vec![tool("begin", plain()), tool("end", plain()), tool("big", plain())];
    // Twice the next level, fourteen times: accepted, and slow on long lists.
    let twice = |next: Value| json!({"allOf": [next, next]});
    let slow = json!({"type": "object", "properties": {"list": {"items": {"$ref": "#/$defs/l0"}}}, "$defs": levels(14, twice)});
    tools.push(tool("slow", slow));
    // The same where a count could miss it.
    let hidden = |next: Value| json!({"dependentSchemas": {"default": {"allOf": [next, next]}}});
    tools.push(tool("hidden", json!({"$ref": "#/$defs/l0", "$defs": levels(27, hidden)})));
    let patterns: Map<String, Value> = (0..400)
        .map(|at| (format!("p{at}"), json!({"pattern": format!("^(a|b{at}){{1,2400}}$")})))
        .collect();
    tools.push(tool("patterns", json!({"type": "object", "properties": patterns})));
    for at in 0..1000 {
        let pattern = format!("^(a|b{list}x{at}){{1,700}}$");
        let schema = json!({"type": "object", "properties": {"x": {"pattern": pattern}}});
        tools.push(tool(&format!("t{at}"), schema));
    }
    tools
}

/// Definitions that each refer to the next one, as `level` says.
fn levels(count: usize, level: impl Fn(Value) -> Value) -> Map<String, Value> {
    let next = |at: usize| json!({"$ref": format!("#/$defs/l{}", at + 1)});
    let mut levels: Map<_, _> = (0..count).map(|at| (format!("l{at}"), level(next(at)))).collect();
    levels.insert(format!("l{count}"), json!({"type": "integer"}));
    levels
}
