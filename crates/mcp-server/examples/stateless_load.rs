//! Loads an MCP server with stateless 2026-07-28 calls: so many connections, each a closed loop, every reply checked.
//!
//! `cargo run --release -p switchboard-mcp-server --example stateless_load -- URL TOOL CONNECTIONS SECONDS` prints one line of
//! JSON: calls per second, and the median and the 99th percentile of their durations.

use std::{env, error::Error, sync::Arc, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::Instant,
};

type Failure = Box<dyn Error + Send + Sync>;

/// What is sent, and what must come back.
struct Load {
    address: String,
    request: Vec<u8>,
    text: String,
    warm: Instant,
    until: Instant,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<_> = env::args().skip(1).collect();
    let [url, tool, connections, seconds] = &words[..] else {
        return Err("usage: stateless_load URL TOOL CONNECTIONS SECONDS".into());
    };
    let rest = url.strip_prefix("http://").ok_or("the URL must begin with http://")?;
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let text = "x".repeat(180);
    let warm = Instant::now() + Duration::from_millis(500);
    let load = Arc::new(Load {
        address: address.to_owned(),
        request: request(address, path, tool, &text),
        text,
        warm,
        until: warm + Duration::from_secs_f64(seconds.parse()?),
    });
    let mut loops = JoinSet::new();
    for _ in 0..connections.parse::<usize>()? {
        loops.spawn(call_on(load.clone()));
    }
    let mut durations = Vec::new();
    while let Some(done) = loops.join_next().await {
        durations.extend(done??);
    }
    durations.sort_unstable();
    let at = |share: f64| durations[((durations.len() - 1) as f64 * share) as usize].as_micros();
    let rate = durations.len() as f64 / (load.until - load.warm).as_secs_f64();
    println!(
        "{}",
        json!({"rps": rate.round(), "p50_us": at(0.5), "p99_us": at(0.99), "calls": durations.len()})
    );
    Ok(())
}

fn request(host: &str, path: &str, tool: &str, text: &str) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": {"text": text},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "stateless_load", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn call_on(load: Arc<Load>) -> Result<Vec<Duration>, Failure> {
    let mut stream = TcpStream::connect(&load.address).await?;
    stream.set_nodelay(true)?;
    let (mut durations, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let began = Instant::now();
        if began >= load.until {
            return Ok(durations);
        }
        stream.write_all(&load.request).await?;
        let answer = read(&mut stream, &mut buffer).await?;
        if !answer.starts_with("HTTP/1.1 200") || !answer.contains(&load.text) {
            return Err(format!("not the answer that was awaited: {answer}").into());
        }
        if began >= load.warm {
            durations.push(began.elapsed());
        }
    }
}

/// One answer: a head, and a body of the length that it announces.
async fn read<'a>(stream: &mut TcpStream, buffer: &'a mut [u8]) -> Result<&'a str, Failure> {
    let (mut filled, mut whole) = (0, usize::MAX);
    while filled < whole {
        let count = stream.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Err("the connection was closed".into());
        }
        filled += count;
        let head = buffer[..filled].windows(4).position(|end| end == b"\r\n\r\n");
        if let (Some(head), usize::MAX) = (head, whole) {
            let text = std::str::from_utf8(&buffer[..head])?.to_ascii_lowercase();
            let length = text.split_once("content-length: ").ok_or("a body without a length")?.1;
            let length = length.split("\r\n").next().unwrap_or_default();
            whole = head + 4 + length.parse::<usize>()?;
        }
    }
    Ok(std::str::from_utf8(&buffer[..filled])?)
}
