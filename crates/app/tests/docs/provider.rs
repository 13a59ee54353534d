//! A provider that answers every question with the same sentence, as OpenAI does, and every search with one result, as SearXNG does.
//! Pages show commands; what comes of them is a model's.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

const ANSWER: &str = "It is so.";

/// Serves on this port, for as long as the process runs.
pub(crate) fn serve(port: u16) -> JoinHandle<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            // A client that hangs up is no failure of the provider.
            thread::spawn(move || drop(answer(client)));
        }
    })
}

fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = first.split_whitespace().nth(1).unwrap_or_default();
    let (status, kind, body) = reply(path, &asked);
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn reply(path: &str, asked: &Value) -> (&'static str, &'static str, String) {
    let is_stream = asked["stream"] == true;
    let json = |value: Value| ("200 OK", "application/json", value.to_string());
    match path.split('?').next().unwrap_or_default() {
        "/v1/models" => {
            json(json!({"object": "list", "data": [{"id": "NAME", "object": "model"}]}))
        }
        "/v1/chat/completions" if is_stream => {
            let delta = json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0,
                "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]});
            ("200 OK", "text/event-stream", format!("data: {delta}\n\ndata: [DONE]\n\n"))
        }
        "/v1/chat/completions" => {
            json(json!({"id": "c", "object": "chat.completion", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]}))
        }
        "/search" => json(json!({"query": "q", "results": [{"title": "Rust Programming Language",
            "url": "https://www.rust-lang.org/",
            "content": "A language empowering everyone to build reliable and efficient software."}]})),
        _ => ("404 Not Found", "application/json", json!({"error": "no such path"}).to_string()),
    }
}
