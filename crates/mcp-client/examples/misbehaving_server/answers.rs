//! What is answered to which request.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Outcome, asks, envelope, modes::Modes, tools, write, write_message};

/// How often a page was wanted.
static WANTED: AtomicU64 = AtomicU64::new(0);

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
    if let Some(times) = modes.number("wants-page", 1)
        && WANTED.fetch_add(1, Ordering::Relaxed) < times
    {
        write_message(&page_wanted(id))?;
        if modes.has("tells-page-done") {
            let done = json!({"elicitationId": "page-1"});
            write_message(&notification("notifications/elicitation/complete", &done))?;
        }
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

/// The error that names a page which a person has to open first.
fn page_wanted(id: &Value) -> Value {
    let page = json!({
        "mode": "url", "elicitationId": "page-1", "url": "https://pages.example/1", "message": "Connect your account.",
    });
    let error =
        json!({"code": -32042, "message": "a page is wanted", "data": {"elicitations": [page]}});
    json!({"jsonrpc": "2.0", "id": id, "error": error})
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
