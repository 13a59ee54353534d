//! Somebody who asks for one call after the other, of whichever gateway, and keeps what it was told.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::scene::Random;

/// How often a call with the key of a run is made.
const AGAIN: u32 = 20;

/// How a call is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The answer is waited for.
    Waiting,
    /// It is queued.
    Queued,
    /// It is queued under an idempotency key.
    Keyed,
    /// It is made over MCP with the key of a run, and again with the same key, of whichever gateway, until there is an answer.
    Repeated,
}

/// A call that was asked for, and what the caller was told of it.
#[derive(Debug)]
pub(crate) struct CallAttempt {
    /// What the tool writes down.
    pub(crate) word: String,
    /// `act`, `put` or `look`.
    pub(crate) tool: &'static str,
    pub(crate) way: Way,
    /// The id of a call that was queued: from then on it must not be lost.
    pub(crate) queued: Option<String>,
    /// The envelope; none where the gateway was gone before it could answer.
    pub(crate) told: Option<Value>,
}

pub(crate) struct Caller {
    number: u64,
    gateways: Vec<String>,
    random: Random,
}

impl Caller {
    pub(crate) fn new(number: u64, gateways: Vec<String>, random: Random) -> Self {
        Self { number, gateways, random }
    }

    /// Asks until it is told that this is enough.
    pub(crate) fn ask_until(mut self, enough: &AtomicBool) -> Vec<CallAttempt> {
        let mut asked = Vec::new();
        while !enough.load(Ordering::Relaxed) {
            asked.push(self.ask(asked.len()));
            thread::sleep(Duration::from_millis(self.random.below(60)));
        }
        asked
    }

    fn ask(&mut self, turn: usize) -> CallAttempt {
        let choices = [
            ("act", Way::Waiting),
            ("put", Way::Waiting),
            ("look", Way::Waiting),
            ("put", Way::Queued),
            ("act", Way::Keyed),
            ("act", Way::Repeated),
        ];
        let (tool, way) = choices[self.random.index(choices.len())];
        let word = format!("{}-{turn}-{tool}", self.number);
        let body = json!({"word": word, "ms": self.random.below(300)});
        if way == Way::Repeated {
            let told = self.ask_again(tool, &word, &body);
            return CallAttempt { word, tool, way, queued: None, told };
        }
        let gateway = &self.gateways[self.random.index(self.gateways.len())];
        let path = match way {
            Way::Waiting | Way::Repeated => format!("/api/tools/lab__{tool}/call"),
            Way::Queued | Way::Keyed => format!("/api/tools/lab__{tool}/call?wait=0"),
        };
        let key = match way {
            Way::Keyed => format!("Idempotency-Key: {word}\r\n"),
            _ => String::new(),
        };
        let head = format!("X-Timeout: 20s\r\n{key}");
        let answer = request(gateway, "POST", &path, &head, &body.to_string()).ok();
        let (queued, told) = match answer {
            Some((202, answer)) => (answer["call_id"].as_str().map(str::to_owned), None),
            Some((_, answer)) => (None, Some(answer)),
            None => (None, None),
        };
        CallAttempt { word, tool, way, queued, told }
    }

    /// Makes a call with the key of a run, as a run does that goes on after a crash. Returns what looks like an envelope.
    fn ask_again(&mut self, tool: &str, word: &str, arguments: &Value) -> Option<Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "chaos", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "switchboard/idempotencyKey": word,
        });
        let params = json!({"name": format!("lab__{tool}"), "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let head = format!(
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: lab__{tool}\r\n"
        );
        for _ in 0..AGAIN {
            let gateway = &self.gateways[self.random.index(self.gateways.len())];
            let answer = request(gateway, "POST", "/mcp", &head, &body.to_string());
            if let Ok((200, answer)) = answer
                && let Some(text) = answer["result"]["content"][0]["text"].as_str()
            {
                let is_error = answer["result"]["isError"] == true;
                return Some(
                    json!({"success": !is_error, "result": text, "error_kind": "an error of MCP", "error": text}),
                );
            }
            thread::sleep(Duration::from_millis(200));
        }
        None
    }
}

/// The status and the JSON of an answer.
///
/// # Errors
/// The gateway is gone.
pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    head: &str,
    body: &str,
) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    // Who is held up does not answer for a while, but nobody is held up for this long.
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{head}\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or_else(broken)?, serde_json::from_str(body).map_err(|_| broken())?))
}
