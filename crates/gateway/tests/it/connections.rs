//! Requests as bytes on a connection: in pieces, ambiguous, one behind the other, abandoned, or cut off by the end.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_gateway::Config;
use switchboard_testkit::{Fake, until_some};
use switchboard_toolcall::{HumanDuration, ProgressUpdate, ToolOutput};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{TestGateway, life::until_seen};

/// Far more than anything here takes; without it a broken connection would hang the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request with this body and these headers.
fn post(headers: &str, body: &str) -> String {
    let accept = "application/json, text/event-stream";
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {accept}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A call without a session.
fn call(tool: &str, args: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 7,
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": args, "_meta": meta}});
    let headers = format!(
        "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    );
    post(&headers, &body.to_string())
}

/// One answer: its head, and its body without what frames it.
async fn answer(stream: &mut TcpStream) -> (String, String) {
    timeout(PATIENCE, read(stream)).await.expect("it is answered")
}

async fn read(stream: &mut TcpStream) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(stream.read_u8().await.unwrap()));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).await.unwrap();
        return (head, String::from_utf8(body).unwrap());
    }
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    loop {
        let mut line = String::new();
        while !line.ends_with("\r\n") {
            line.push(char::from(stream.read_u8().await.unwrap()));
        }
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        stream.read_exact(&mut chunk).await.unwrap();
        assert!(chunk.ends_with(b"\r\n"));
        if length == 0 {
            return (head, String::from_utf8(body).unwrap());
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// What is the same of an answer however often one asks: all but when it was given, and the names of calls and sessions.
fn essence((head, body): (String, String)) -> (Vec<String>, String) {
    let lines = head.lines().map(|line| match line.split_once(": ") {
        Some((name @ ("date" | "mcp-session-id"), value)) => format!("{name}: {}", value.len()),
        _ => line.to_owned(),
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    (lines, body)
}

/// A tool that tells of its progress, and then waits so long.
fn reporting() -> Fake {
    Fake::new("reports", |args, cx| async move {
        for progress in [1.0, 2.0] {
            cx.progress.report(ProgressUpdate { progress, ..ProgressUpdate::default() });
            sleep(Duration::from_millis(20)).await;
        }
        sleep(Duration::from_secs_f64(args["secs"].as_f64().unwrap_or(0.0))).await;
        Ok(ToolOutput::Value(json!("reported")))
    })
}

// GW-1, GW-4
#[tokio::test]
async fn an_answer_is_the_same_however_the_request_arrives() {
    let gateway = TestGateway::start().await;
    gateway.executor.tools().add(reporting()).unwrap();
    let token = gateway.token("few", &["echo"]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let cases = [
        post("", &hello.to_string()),
        post("", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        post("", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        post("", "not JSON"),
        post("", ""),
        post("Mcp-Session-Id: none\r\n", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        post("Authorization: Bearer wrong\r\n", &hello.to_string()),
        post(&format!("Authorization: Bearer {token}\r\n"), &hello.to_string()),
        post("Origin: https://elsewhere.example\r\n", &hello.to_string()),
        post("Host: localhost\r\n", &hello.to_string()),
        post("", &hello.to_string()).replace("Host: ", "Host: me@"),
        post("", &hello.to_string()).replace("application/json\r\nAccept", "text/plain\r\nAccept"),
        call("echo", &json!({"text": "hé"})),
        call("echo", &json!({"text": "x".repeat(9_000)})),
        call("echo", &json!({"text": "x".repeat(40_000)})),
        call("weather", &json!({})),
        call("reports", &json!({})),
        call("nothing", &json!({})),
    ];
    for request in cases {
        let mut whole = TcpStream::connect(gateway.address).await.unwrap();
        whole.write_all(request.as_bytes()).await.unwrap();
        let whole = essence(answer(&mut whole).await);
        let mut halves = TcpStream::connect(gateway.address).await.unwrap();
        let (one, other) = request.as_bytes().split_at(30);
        halves.write_all(one).await.unwrap();
        sleep(Duration::from_millis(20)).await;
        halves.write_all(other).await.unwrap();
        assert_eq!(essence(answer(&mut halves).await), whole, "{request}");
    }
}

// GW-2
#[tokio::test]
async fn a_head_that_can_be_read_in_two_ways_is_refused() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("few", &["echo"]);
    let mcp = post("", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nA: 1\r\n\r\n");
    let more = |request: &str, header: &str| {
        request.replacen("localhost\r\n", &format!("localhost\r\n{header}\r\n"), 1)
    };
    for request in [mcp, get("/api/tools"), get("/healthz")] {
        let bearer = more(&request, &format!("Authorization: Bearer {token}"));
        let wrong = [
            (more(&request, "Host: localhost"), "more than one `host` header"),
            (more(&bearer, "Authorization: Bearer other"), "more than one `authorization` header"),
            (request.replace("Host: ", "Host: me@"), "user information"),
            (request.replace(" /", " http://me@localhost/"), "user information"),
        ];
        for (request, why) in wrong {
            let mut stream = TcpStream::connect(gateway.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let (head, body) = answer(&mut stream).await;
            assert!(head.starts_with("HTTP/1.1 400 ") && body.contains(why), "{request}{body}");
        }
    }
}

// GW-2
#[tokio::test]
async fn a_request_whose_end_is_in_doubt_is_refused_and_nothing_follows_it() {
    let gateway = TestGateway::start().await;
    let request = post("", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let more = |header: &str| request.replacen("Host", &format!("{header}\r\nHost"), 1);
    let cases = [
        more("Content-Length: 5"),
        more("Content-Length: -1"),
        more("Content-Length: 1e3"),
        more("Transfer-Encoding: identity"),
        more("Transfer-Encoding: chunked"),
        more("Content-Length : 1"),
        more(" folded: yes"),
        more("no colon"),
        request.replacen(" HTTP/1.1", " HTTP/1.2", 1),
        request.replacen("POST ", "POST  ", 1),
    ];
    for request in cases {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(format!("{request}{hidden}").as_bytes()).await.unwrap();
        let mut answers = Vec::new();
        // A reset after the answer is an end too.
        let _ = timeout(PATIENCE, stream.read_to_end(&mut answers)).await.expect("it is closed");
        let answers = String::from_utf8_lossy(&answers);
        assert!(answers.starts_with("HTTP/1.1 400 "), "{request}{answers}");
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{request}{answers}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_the_header_timeout() {
    let header_timeout = HumanDuration(Duration::from_millis(100));
    let gateway = TestGateway::configured(Config { header_timeout, ..Config::default() }).await;
    let mut fresh = TcpStream::connect(gateway.address).await.unwrap();
    let mut used = TcpStream::connect(gateway.address).await.unwrap();
    used.write_all(call("echo", &json!({"text": "x"})).as_bytes()).await.unwrap();
    answer(&mut used).await;
    for stream in [&mut fresh, &mut used] {
        let mut rest = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is closed").unwrap();
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{rest}");
    }
}

// GW-4
#[tokio::test]
async fn a_message_that_is_too_large_is_called_so() {
    let max_body = switchboard_toolcall::HumanSize(1000);
    let gateway = TestGateway::configured(Config { max_body, ..Config::default() }).await;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","a":"{}"}}"#, "x".repeat(1000));
    let chunked = post("Transfer-Encoding: chunked\r\n", "").replace("Content-Length: 0\r\n", "");
    for request in [post("", &body), format!("{chunked}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())] {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let (head, body) = answer(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 413 ") && body.contains("-32600"), "{head}{body}");
    }
}

#[tokio::test]
async fn requests_of_all_kinds_follow_each_other_on_a_connection() {
    let gateway = TestGateway::start().await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    let requests = ["one", "two"]
        .map(|text| call("echo", &json!({"text": text})))
        .into_iter()
        .chain([health, call("echo", &json!({"text": "three"}))]);
    for (request, expected) in requests.zip(["one", "two", "ok", "three"]) {
        stream.write_all(request.as_bytes()).await.unwrap();
        let (head, body) = answer(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && body.contains(expected), "{head}{body}");
    }
}

#[tokio::test]
async fn a_request_may_come_before_the_last_was_answered() {
    let gateway = TestGateway::start().await;
    let [slow, quick] =
        [call("wait", &json!({"secs": 0.1})), call("echo", &json!({"text": "quick"}))];
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(slow.as_bytes()).await.unwrap();
    until_seen(&gateway, "begun").await;
    stream.write_all(format!("{quick}{slow}").as_bytes()).await.unwrap();
    for expected in ["done", "quick", "done"] {
        let (_, body) = answer(&mut stream).await;
        assert!(body.contains(expected), "{body}");
    }
}

// EX-4
#[tokio::test]
async fn who_hangs_up_cancels_its_call() {
    let gateway = TestGateway::start().await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(call("wait", &json!({"secs": 60})).as_bytes()).await.unwrap();
    until_seen(&gateway, "begun").await;
    drop(stream);
    timeout(PATIENCE, until_seen(&gateway, "dropped and told")).await.expect("it is cancelled");
}

// EX-4
#[tokio::test]
async fn who_hangs_up_in_the_middle_of_an_answer_cancels_its_call() {
    let gateway = TestGateway::start().await;
    gateway.executor.tools().add(reporting()).unwrap();
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(call("reports", &json!({"secs": 60})).as_bytes()).await.unwrap();
    let mut some = Vec::new();
    while !String::from_utf8_lossy(&some).contains("progress") {
        stream.read_buf(&mut some).await.unwrap();
    }
    stream.shutdown().await.unwrap();
    until_some(async || gateway.executor.history().recent(1).await.unwrap()[0].end).await;
    timeout(PATIENCE, stream.read_to_end(&mut some)).await.expect("it is closed").unwrap();
    assert!(!String::from_utf8_lossy(&some).contains("reported"));
}

// GW-4
#[tokio::test]
async fn at_the_end_answers_are_given_and_connections_closed() {
    let drain = HumanDuration(Duration::from_secs(3600));
    let mut gateway = TestGateway::configured(Config { drain, ..Config::default() }).await;
    let mut idle = TcpStream::connect(gateway.address).await.unwrap();
    idle.write_all(call("echo", &json!({})).as_bytes()).await.unwrap();
    answer(&mut idle).await;
    let mut busy = TcpStream::connect(gateway.address).await.unwrap();
    busy.write_all(call("wait", &json!({"secs": 0.2})).as_bytes()).await.unwrap();
    until_seen(&gateway, "begun").await;
    gateway.stop.cancel();
    let (head, body) = answer(&mut busy).await;
    assert!(head.contains("connection: close") && body.contains("done"), "{head}{body}");
    for mut stream in [idle, busy] {
        assert_eq!(timeout(PATIENCE, stream.read_u8()).await.unwrap().ok(), None);
    }
    gateway.running.take().unwrap().await.unwrap();
}

// GW-4
#[tokio::test]
async fn what_does_not_end_in_time_is_cancelled() {
    let drain = HumanDuration(Duration::from_millis(50));
    let mut gateway = TestGateway::configured(Config { drain, ..Config::default() }).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(call("wait", &json!({"secs": 60})).as_bytes()).await.unwrap();
    until_seen(&gateway, "begun").await;
    gateway.stop.cancel();
    gateway.running.take().unwrap().await.unwrap();
    until_seen(&gateway, "dropped and told").await;
    assert!(stream.read_u8().await.is_err());
}
