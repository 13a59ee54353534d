//! Callers: each has a connection and makes one stateless call after the other.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::Failure;

/// Calls of one tool.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Call>);

struct Call {
    address: String,
    request: Vec<u8>,
    /// The same, after which the connection is closed.
    last_request: Vec<u8>,
}

/// How long calls took.
#[derive(Default)]
pub(crate) struct Durations(Vec<Duration>);

impl Calls {
    pub(crate) fn of(address: &str, tool: &str, args: Value) -> Self {
        let request = |connection| request(address, connection, tool, &args);
        let (last_request, request) = (request("close"), request("keep-alive"));
        Self(Arc::new(Call { address: address.to_owned(), request, last_request }))
    }

    /// Makes one call, whose answer may also be a stream of events.
    pub(crate) async fn once(&self) -> Result<(), Failure> {
        let mut stream = TcpStream::connect(&self.0.address).await?;
        stream.write_all(&self.0.last_request).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        is_good(std::str::from_utf8(&answer)?)
    }

    /// Makes one call, again and again until it succeeds, for two minutes at most.
    pub(crate) async fn in_the_end(&self) -> Result<(), Failure> {
        let began = Instant::now();
        while let Err(failure) = self.once().await {
            if began.elapsed() > Duration::from_secs(120) {
                return Err(failure);
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Makes calls from so many connections, for so long.
    pub(crate) async fn many(&self, callers: usize, time: Duration) -> Result<Durations, Failure> {
        let until = Instant::now() + time;
        let mut loops = JoinSet::new();
        for _ in 0..callers {
            loops.spawn(self.clone().until(until));
        }
        let mut durations = Durations::default();
        while let Some(done) = loops.join_next().await {
            durations.add(done??);
        }
        Ok(durations)
    }

    async fn until(self, until: Instant) -> Result<Durations, Failure> {
        let mut stream = TcpStream::connect(&self.0.address).await?;
        stream.set_nodelay(true)?;
        let (mut durations, mut buffer) = (Vec::new(), Vec::new());
        loop {
            let began = Instant::now();
            if began >= until {
                return Ok(Durations(durations));
            }
            self.on(&mut stream, &mut buffer).await?;
            durations.push(began.elapsed());
        }
    }

    async fn on(&self, stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        stream.write_all(&self.0.request).await?;
        is_good(read(stream, buffer).await?)
    }
}

fn is_good(answer: &str) -> Result<(), Failure> {
    match answer.starts_with("HTTP/1.1 200") && !answer.contains("\"isError\":true") {
        true => Ok(()),
        false => {
            let head: String = answer.chars().take(2000).collect();
            Err(format!("not the answer that was awaited: {head}").into())
        }
    }
}

impl Durations {
    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
    }

    /// The duration that this share of the calls did not exceed.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share) as usize).copied().unwrap_or_default()
    }

    pub(crate) fn summary(&self, time: Duration) -> Value {
        let rate = self.0.len() as f64 / time.as_secs_f64();
        let at = |share| self.at(share).as_micros();
        json!({"rps": rate.round(), "p50_us": at(0.5), "p99_us": at(0.99), "max_us": at(1.0)})
    }
}

fn request(host: &str, connection: &str, tool: &str, args: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": args,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "hostile_load", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: {connection}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// One answer: a head, and a body of the length that it announces.
async fn read<'a>(stream: &mut TcpStream, buffer: &'a mut Vec<u8>) -> Result<&'a str, Failure> {
    buffer.clear();
    let mut whole = usize::MAX;
    while buffer.len() < whole {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the connection was closed".into());
        }
        let head = buffer.windows(4).take(4096).position(|end| end == b"\r\n\r\n");
        if let (Some(head), usize::MAX) = (head, whole) {
            let text = std::str::from_utf8(&buffer[..head])?.to_ascii_lowercase();
            let length = text.split_once("content-length: ").ok_or("a body without a length")?.1;
            let length = length.split("\r\n").next().unwrap_or_default();
            whole = head + 4 + length.parse::<usize>()?;
        }
    }
    Ok(std::str::from_utf8(buffer)?)
}
