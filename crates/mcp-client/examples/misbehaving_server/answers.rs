//! What is answered to which request.

use std::{io, thread, time::Duration};

use serde_json::{Value, json};

use crate::{Outcome, asks, envelope, modes::Modes, tools, write, write_message};

/// The answer, unless it is given in another way or not at all.
pub(crate) fn answer(
    modes: &Modes,
    id: &Value,
    method: &str,
    params: &Value,
) -> io::Result<Option<Outcome>> {
    Ok(Some(match method {
        "server/discover" if modes.has("modern") => Ok(discovered()),
        "initialize" if modes.has("modern") => Err((-32022, "Unsupported protocol version")),
        "initialize" => Ok(initialized(params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(modern(modes, tools::list(modes, params))),
        "tools/call" if params["name"] == "ask_client" => return asks::ask(modes, id, params),
        "tools/call" => return call(modes, id, params),
        _ => Err((-32601, "Method not found")),
    }))
}

fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 60_000,
        "cacheScope": "public",
    })
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().filter(|version| *version < "2026");
    json!({
        "protocolVersion": asked.unwrap_or("2025-11-25"),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "misbehaving", "version": "1.0.0"},
    })
}

/// Results of the new era say of which kind they are.
fn modern(modes: &Modes, mut result: Value) -> Value {
    if modes.has("modern") {
        result["resultType"] = json!("complete");
    }
    result
}

fn call(modes: &Modes, id: &Value, params: &Value) -> io::Result<Option<Outcome>> {
    if modes.has("invalid-utf8-answer") {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""#);
        write(&[start.as_bytes(), b"\xff\xfe\"}}\n"].concat())?;
        return Ok(None);
    }
    if let Some(last) = modes.number("progress", 3) {
        send_progress(&params["_meta"]["progressToken"], last)?;
    }
    if modes.has("list-changed") && tools::change() {
        write_message(&notification("notifications/tools/list_changed", &json!({})))?;
    }
    let outcome = tools::call(modes, params).map(|result| modern(modes, result));
    if let Some(milliseconds) = modes.number("answers-late", 500) {
        let message = envelope(id, outcome);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(milliseconds));
            write_message(&message)
        });
        return Ok(None);
    }
    Ok(Some(outcome))
}

fn send_progress(token: &Value, last: u64) -> io::Result<()> {
    for step in 1..=last {
        let params = json!({"progressToken": token, "progress": step, "total": last, "message": format!("step {step}")});
        write_message(&notification("notifications/progress", &params))?;
    }
    Ok(())
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}
