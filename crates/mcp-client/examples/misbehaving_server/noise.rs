//! What does not belong on stdout, or not in such numbers on stderr.

use std::{
    io::{self, BufWriter, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use crate::{modes::Modes, write};

/// A huge line comes once; it takes its time.
static HUGE_DONE: AtomicBool = AtomicBool::new(false);

pub(crate) fn before_answer(modes: &Modes, method: &str, request: &str) -> io::Result<()> {
    if modes.has("garbage-text") {
        write(b"Server listening on stdio\n  at frame (index.js:1:2) {\n}\n")?;
    }
    if modes.has("garbage-json") {
        write(b"{\"level\":\"info\",\"id\":1,\"msg\":\"ready\"}\n\"text\"\n42\nnull\n[]\n{}\n[1,{\"a\":2}]\n")?;
        write(b"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\"}\n")?;
    }
    if modes.has("invalid-utf8") {
        write(b"\xff\xfe\x00 caf\xe9 {\"id\xc3\": \n")?;
    }
    if modes.has("empty-lines") {
        write(b"\n\n   \n\r\n\t\n")?;
    }
    if modes.has("quoted-request") {
        write(format!("DEBUG received: {request}\n").as_bytes())?;
        // A request that we would answer if we believed it.
        write(
            b"DEBUG sent {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"roots/list\"} just now\n",
        )?;
    }
    if let Some(lines) = modes.number("stderr-flood", 100_000) {
        flood(io::stderr().lock(), lines)?;
    }
    if method == "tools/call" {
        before_result(modes)?;
    }
    Ok(())
}

fn before_result(modes: &Modes) -> io::Result<()> {
    if modes.has("log-messages") {
        for level in ["debug", "warning", "error"] {
            let params = json!({"level": level, "logger": "tool", "data": format!("at {level}")});
            let note =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
            write(format!("{note}\n").as_bytes())?;
        }
    }
    if let Some(lines) = modes.number("flood", 100_000) {
        flood(io::stdout().lock(), lines)?;
    }
    if let Some(megabytes) = modes.number("huge-line", 200)
        && !HUGE_DONE.swap(true, Ordering::Relaxed)
    {
        let megabyte = vec![b'x'; 1_000_000];
        for _ in 0..megabytes {
            write(&megabyte)?;
        }
        write(b"\n")?;
    }
    Ok(())
}

fn flood(stream: impl Write, lines: u64) -> io::Result<()> {
    let mut stream = BufWriter::new(stream);
    for number in 1..=lines {
        writeln!(stream, "noise {number} {{\"id\": {{\"jsonrpc\": {{\"result\"")?;
    }
    stream.flush()
}

pub(crate) fn write_answer(modes: &Modes, answer: &Value) -> io::Result<()> {
    let note =
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "hello"}});
    let end = if modes.has("crlf") { "\r\n" } else { "\n" };
    let line = if modes.has("glued") {
        let half = r#"DEBUG {"jsonrpc":"2.0","id":77,"resu"#;
        format!("{half}{note}{answer}50% done{end}")
    } else if modes.has("batch") {
        format!("[{note}, {answer}]{end}")
    } else {
        format!("{answer}{end}")
    };
    write(line.as_bytes())
}
