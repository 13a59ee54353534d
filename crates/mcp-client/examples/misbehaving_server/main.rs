//! A small MCP server over stdio that misbehaves as told, for tests: `misbehaving_server MODE,MODE=VALUE,…`
//!
//! Without a mode it is a well-behaved server of revision 2025-11-25 with the tools `echo` and `add`: it answers
//! `server/discover` with -32601, `initialize`, `ping`, `tools/list` and `tools/call`. Modes can be combined.
//!
//! Its life:
//! - `slow-start=MS`: does nothing for so long. `dies-at-start`: says why on stderr and exits with 1.
//! - `dies-on-discover`: exits with 1 on `server/discover`. `silent-on-discover`: does not answer it.
//!   `dies-on-initialize`: exits with 1 on `initialize`.
//! - `exits-after=N`: exits with 3 after N answers. `exits-on-call`: exits with 3 instead of answering `tools/call`.
//! - `silent`: answers nothing. `reads-when=FILE`: reads nothing before the file exists.
//! - `closes-stdout`: closes its stdout on `tools/call` and goes on running.
//! - `ignores-stdin-end`: runs on after the end of its input. `ignores-sigterm`: so it does after SIGTERM.
//! - `spawns-grandchild=FILE`: starts a process that ignores SIGTERM and never ends; its pid is in the file.
//! - `logs-input=FILE`: appends every line it gets to the file.
//!
//! Garbage on stdout, before each answer where nothing else is said (see `noise.rs`):
//! - `garbage-text`, `garbage-json`, `invalid-utf8`, `empty-lines`, `glued` (to the answer, on both sides),
//!   `quoted-request` (what came in, within a log line), `huge-line=MB` (200), `flood=LINES` (100000).
//! - `crlf`: answers end with CR LF. `batch`: each answer is a batch of a notification and itself.
//!
//! Stderr: `stderr-lines=N` numbered lines at start (10), `stderr-flood=LINES` before each answer (100000),
//! `stderr-long-line`: one of 1 MB, then the line `after`.
//!
//! Answers to `tools/call`:
//! - `never-answers-tools-call`, `answers-late=MS` (others go on meanwhile), `progress=N` (numbered notifications
//!   first), `log-messages` (of the levels debug, warning and error first), `is-error`, `rpc-error`, `wants-page=N` (-32042 to the first N calls, 1), `tells-page-done`, `vendor-fields`, `binary=N` (images, 1), `huge-answer=MB` (2), `invalid-utf8-answer`,
//!   `text-id` (the id comes back as a string).
//!
//! Tools:
//! - `list-changed`: the first `tools/call` adds the tool `late` and says so. `paginates`: one tool a page.
//!   `endless-pages`: always one page more. `bad-tools`: broken ones among the good. `many-tools=N`.
//! - `refuses-snake-case`: `set_level` wants `deviceName` and knows no `device_name`. `env`: `environment` returns
//!   its environment and working directory.
//! - `asks`: `ask_client` asks the client what its arguments say: `{method, params}`, and returns the answer.
//! - `modern`: answers `server/discover` as 2026-07-28 does, and `initialize` with -32022.
#![expect(clippy::disallowed_methods, reason = "it is slow on purpose")]

mod modes;
mod life;
mod answers;
mod asks;
mod tools;
mod noise;

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use modes::Modes;

fn main() -> io::Result<()> {
    let modes = Modes::from_arguments();
    life::start(&modes)?;
    let mut answered = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        life::log_input(&modes, &line)?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            asks::answered(&message)?;
            continue;
        };
        if modes.has("silent") || !life::survives(&modes, method)? {
            continue;
        }
        let Some(outcome) = answers::answer(&modes, id, method, &message["params"])? else {
            continue;
        };
        noise::before_answer(&modes, method, &line)?;
        let id = if modes.has("text-id") { json!(id.to_string()) } else { id.clone() };
        noise::write_answer(&modes, &envelope(&id, outcome))?;
        answered += 1;
        life::after_answer(&modes, answered);
    }
    life::input_ended(&modes);
    Ok(())
}

/// A result, or the error with its code.
pub(crate) type Outcome = Result<Value, (i64, &'static str)>;

pub(crate) fn envelope(id: &Value, outcome: Outcome) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    }
}

/// Writes bytes at once, so that nothing comes between them.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Writes a message as a line.
pub(crate) fn write_message(message: &Value) -> io::Result<()> {
    write(format!("{message}\n").as_bytes())
}
