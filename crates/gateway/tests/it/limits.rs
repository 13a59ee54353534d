//! Clients that are too much: too large, too slow, too many, or suddenly gone.

use std::{fs, process::Command, time::Duration};

use futures_util::future::join_all;
use serde_json::json;
use switchboard_access::NewToken;
use switchboard_gateway::Config;
use switchboard_testkit::{until, until_some};
use switchboard_toolcall::{ErrorKind, HumanDuration, HumanSize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{TestGateway, answer, life::until_seen};

/// Far more than anything here takes; without it a broken limit would hang the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection over which this has been sent.
async fn send(gateway: &TestGateway, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that comes until the other side closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is an end too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is closed");
    String::from_utf8_lossy(&answer).into_owned()
}

fn call(tool: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /api/tools/{tool}/call HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Waits until the tool has begun so many times.
async fn until_begun(gateway: &TestGateway, count: usize) {
    let begun = || gateway.witness.seen().iter().filter(|what| **what == "begun").count();
    until(async || begun() >= count).await;
}

fn millis(millis: u64) -> HumanDuration {
    HumanDuration(Duration::from_millis(millis))
}

#[tokio::test]
async fn heads_are_bounded_in_size_and_number() {
    let gateway = TestGateway::configured(Config {
        max_head: HumanSize(4096),
        max_headers: 20,
        ..Config::default()
    })
    .await;
    let head = |more: &str| {
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{more}Connection: close\r\n\r\n")
    };
    let many: String = (0..30).map(|number| format!("X-{number}: 1\r\n")).collect();
    let cases = [
        (head(""), "200"),
        (head(&format!("X-Long: {}\r\n", "x".repeat(3000))), "200"),
        (head(&format!("X-Long: {}\r\n", "x".repeat(8000))), "431"),
        (head(&many), "431"),
        (head("X Broken: 1\r\n"), "400"),
        ("\u{16}\u{3}\u{1}\u{2}garbage\r\n\r\n".to_owned(), "400"),
    ];
    for (text, status) in cases {
        let answer = rest(send(&gateway, &text).await).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {answer}");
    }
    let plain = TestGateway::start().await;
    let many: String = (0..120).map(|number| format!("X-{number}: 1\r\n")).collect();
    let answer = rest(send(&plain, &head(&many)).await).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let endless = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1 << 20));
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let _ = stream.write_all(endless.as_bytes()).await;
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_come_does_not_hold_a_place() {
    let gateway =
        TestGateway::configured(Config { body_timeout: millis(100), ..Config::default() }).await;
    let new = NewToken { name: "one".to_owned(), concurrent: Some(1), ..Default::default() };
    let bearer = format!("Authorization: Bearer {}\r\n", gateway.tokens.create(new).unwrap());
    let head = call("echo", &bearer, "").replace("Length: 0", "Length: 1000");
    let mut stream = send(&gateway, &format!("{head}{{")).await;
    // A byte now and then changes nothing.
    let dripping = async {
        while stream.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(10)).await;
            let mut first = [0; 16];
            if stream.try_read(&mut first).is_ok() {
                return String::from_utf8_lossy(&first).into_owned();
            }
        }
        String::new()
    };
    let answer = timeout(PATIENCE, dripping).await.expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    let answer =
        rest(send(&gateway, &call("echo", &format!("{bearer}Connection: close\r\n"), "{}")).await);
    assert!(answer.await.starts_with("HTTP/1.1 200"), "the share is free again");
    assert_eq!(
        gateway.executor.history().recent(10).await.unwrap().len(),
        1,
        "only one was called"
    );
}

#[tokio::test]
async fn clients_that_do_not_read_are_disconnected() {
    let gateway =
        TestGateway::configured(Config { write_timeout: millis(100), ..Config::default() }).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let requests = "GET /api/tools HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let asking = async { while stream.write_all(requests.as_bytes()).await.is_ok() {} };
    timeout(PATIENCE, asking).await.expect("the connection is closed although nobody reads");
}

// EX-4
#[tokio::test]
async fn a_client_that_closes_its_half_has_hung_up() {
    let gateway = TestGateway::start().await;
    let mut stream = send(&gateway, &call("wait", "", "{\"secs\": 60}")).await;
    until_begun(&gateway, 1).await;
    stream.shutdown().await.unwrap();
    assert_eq!(rest(stream).await, "");
    until_seen(&gateway, "dropped and told").await;
    // In the middle of a body there is nothing to cancel yet.
    let head = call("echo", "", "").replace("Length: 0", "Length: 1000");
    let mut stream = send(&gateway, &format!("{head}{{")).await;
    stream.shutdown().await.unwrap();
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert_eq!(gateway.executor.history().recent(10).await.unwrap().len(), 1);
}

// EX-4, RC-1
#[tokio::test]
async fn a_hundred_clients_that_vanish_leave_nothing_behind() {
    let gateway = TestGateway::start().await;
    let new = NewToken { name: "crowd".to_owned(), concurrent: Some(100), ..Default::default() };
    let token = gateway.tokens.create(new).unwrap();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let text = call("wait", &bearer, "{\"secs\": 60}");
    let clients = join_all((0..100).map(|_| send(&gateway, &text))).await;
    until_begun(&gateway, 100).await;
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(&token)).await.0, 429);
    drop(clients);
    let ends = until_some(async || {
        let calls = gateway.executor.history().recent(200).await.unwrap();
        calls.iter().map(|call| call.end).collect::<Option<Vec<_>>>()
    });
    let ends = ends.await;
    assert_eq!(ends.len(), 100);
    assert!(ends.iter().all(|(kind, _)| *kind == Some(ErrorKind::Cancelled)));
    let again = (0..100).map(|_| answer(gateway.call("echo", &json!({})).bearer_auth(&token)));
    let statuses: Vec<_> = join_all(again).await.into_iter().map(|answer| answer.0).collect();
    assert_eq!(statuses, [200; 100], "the whole share is there again");
    let metrics = gateway.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("switchboard_tool_calls_running 0"), "{metrics}");
}

/// Ten thousand, or as many as this process may have files open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_disturb_nobody() {
    let limit = raise_limit();
    let count = 10_000.min(limit.saturating_sub(500));
    let patient = HumanDuration(PATIENCE * 10);
    let gateway =
        TestGateway::configured(Config { header_timeout: patient, ..Config::default() }).await;
    // Held by others: this process would need a file for each end.
    let holders: Vec<_> = (0..4).map(|_| hold(&gateway, count / 4)).collect();
    let connections = async || {
        let text = gateway.get("/metrics").send().await.unwrap().text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("switchboard_connections "));
        line.unwrap().parse::<usize>().unwrap()
    };
    until(async || connections().await >= count / 4 * 4).await;
    println!("{count} idle connections (files allowed: {limit})");
    assert_eq!(answer(gateway.call("echo", &json!({"a": 1}))).await.0, 200);
    for mut holder in holders {
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
    until(async || connections().await <= 10).await;
}

/// A process that opens so many connections and says nothing.
fn hold(gateway: &TestGateway, count: usize) -> std::process::Child {
    let place = format!("/dev/tcp/{}/{}", gateway.address.ip(), gateway.address.port());
    // A pause now and then: who knocks faster than the door opens is only let in a second later.
    let script = format!(
        "ulimit -Sn $(ulimit -Hn)
         for ((i = 0; i < {count}; i++)); do
             exec {{fd}}<>{place}
             ((i % 50)) || sleep 0.02
         done
         exec sleep 600"
    );
    Command::new("bash").args(["-c", &script]).spawn().unwrap()
}

/// Lets this process have as many files open as it may, and says how many that are.
fn raise_limit() -> usize {
    let limits = || -> Vec<usize> {
        let text = fs::read_to_string("/proc/self/limits").unwrap();
        let line = text.lines().find(|line| line.starts_with("Max open files")).unwrap();
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    if let [soft, hard] = limits()[..]
        && soft < hard
    {
        let (pid, files) = (std::process::id().to_string(), format!("--nofile={hard}:{hard}"));
        // Where there is no such command, the test makes do with less.
        let _ = Command::new("prlimit").args(["--pid", &pid, &files]).status();
    }
    limits()[0]
}
