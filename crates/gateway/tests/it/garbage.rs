//! Requests that are nearly right: however they are wrong, it makes no difference who reads them.

use std::time::Duration;

use proptest::{collection::vec, prelude::*, test_runner::Config as Runs};
use serde_json::json;
use switchboard_gateway::Config;
use switchboard_toolcall::HumanDuration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::House;

/// What is done to a request.
#[derive(Clone, Debug)]
enum Change {
    /// Another first line.
    First(&'static str),
    /// One more header.
    Header(&'static str),
    /// Another length than the body has, by so much.
    Length(i8),
    /// Another byte somewhere.
    Byte(prop::sample::Index, u8),
    /// Nothing from there on.
    Cut(prop::sample::Index),
    /// Something behind it.
    More(&'static str),
}

fn any_change() -> impl Strategy<Value = Change> {
    let first = vec![
        "POST /mcp HTTP/1.0",
        "POST /mcp HTTP/1.2",
        "POST /mcp",
        "POST  /mcp HTTP/1.1",
        "POST /mcp/ HTTP/1.1",
        "POST /mcp?a=b HTTP/1.1",
        "POST http://localhost/mcp HTTP/1.1",
        "PUT /mcp HTTP/1.1",
        "post /mcp HTTP/1.1",
        "OPTIONS /mcp HTTP/1.1",
    ];
    let headers = vec![
        "Connection: keep-alive",
        "Connection: close",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: identity",
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 1e3",
        "Expect: 100-continue",
        "Host: elsewhere.example",
        "Origin: https://elsewhere.example",
        "Content-Type: text/plain",
        "X-Empty:",
        " folded: yes",
        "no colon",
        "Sp ace: 1",
        "X: \u{e9}",
    ];
    prop_oneof![
        prop::sample::select(first).prop_map(Change::First),
        prop::sample::select(headers).prop_map(Change::Header),
        any::<i8>().prop_map(Change::Length),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        any::<prop::sample::Index>().prop_map(Change::Cut),
        prop::sample::select(vec!["\r\n", "GET / HTTP/1.1\r\n\r\n", "x"]).prop_map(Change::More),
    ]
}

/// A request with these changes.
fn request(changes: &[Change]) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut first = "POST /mcp HTTP/1.1";
    let mut headers = String::new();
    let mut length = i64::try_from(body.len()).unwrap();
    for change in changes {
        match change {
            Change::First(line) => first = line,
            Change::Header(line) => headers.push_str(&format!("{line}\r\n")),
            Change::Length(by) => length += i64::from(*by),
            _ => {}
        }
    }
    let head = format!(
        "{first}\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    let mut text = format!("{head}{body}").into_bytes();
    for change in changes {
        match change {
            Change::Byte(at, byte) if !text.is_empty() => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Change::Cut(at) if !text.is_empty() => text.truncate(at.index(text.len())),
            Change::More(more) => text.extend_from_slice(more.as_bytes()),
            _ => {}
        }
    }
    text
}

/// All that is said for these pieces and a last request; dates aside. And whether the connection ended as it should.
async fn conversation(house: &House, pieces: &[&[u8]]) -> (String, bool) {
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    for piece in pieces {
        // Whether it is still read shows below.
        _ = stream.write_all(piece).await;
        sleep(Duration::from_millis(5)).await;
    }
    let mut said = Vec::new();
    let quiet = Duration::from_millis(20);
    let mut ended = false;
    while let Ok(read) = timeout(quiet, stream.read_buf(&mut said)).await {
        if !matches!(read, Ok(1..)) {
            ended = true;
            break;
        }
    }
    if !ended {
        _ = stream
            .write_all(b"GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await;
        ended = stream.read_to_end(&mut said).await.is_ok();
    }
    let said = String::from_utf8_lossy(&said);
    let lines = said.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
    (lines.collect(), ended)
}

// GW-4
#[test]
fn nobody_can_tell_who_reads_a_wrong_request() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let soon = HumanDuration(Duration::from_millis(200));
    let config = Config { header_timeout: soon, body_timeout: soon, ..Config::default() };
    let house = runtime.block_on(House::configured(config));
    let runs = Runs { cases: 96, failure_persistence: None, ..Runs::default() };
    proptest!(runs, |(changes in vec(any_change(), 0..3), at in any::<prop::sample::Index>())| {
        let text = request(&changes);
        let (one, other) = text.split_at(at.index(text.len().clamp(1, 19)).min(text.len()));
        let (whole, halves) = runtime.block_on(async {
            (conversation(&house, &[&text]).await, conversation(&house, &[one, other]).await)
        });
        // A connection that is reset takes along what was not read yet.
        match whole.1 && halves.1 {
            true => prop_assert_eq!(whole.0, halves.0),
            false => prop_assert!(whole.0.starts_with(&halves.0) || halves.0.starts_with(&whole.0)),
        }
    });
}
