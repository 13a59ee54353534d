//! How an answer lies in its connection, and what becomes of the connection.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use switchboard_mcp_client::{HttpTransport, Transport, TransportRequest};
use switchboard_mcp_wire::Era;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::sleep,
};

use super::{
    client::{RecordingInbox, call, client, config, told},
    server::Server,
};

const OK: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#;
const JSON: &str = "content-type: application/json\r\n";

// MC-1: however an answer ends, it is read; its connection serves again where it can.
#[tokio::test]
async fn answers_end_in_several_ways() {
    let length = format!("content-length: {}\r\n", OK.len());
    let chunks =
        format!("10\r\n{}\r\n{:x};x=y\r\n{}\r\n0\r\n", &OK[..16], OK.len() - 16, &OK[16..]);
    let cases = [
        (format!("HTTP/1.1 200 OK\r\n{JSON}{length}\r\n{OK}"), true),
        (format!("HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n{chunks}\r\n"), true),
        (
            format!(
                "HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n{chunks}a: b\r\n\r\n"
            ),
            true,
        ),
        (
            format!(
                "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n{JSON}{length}\r\n{OK}"
            ),
            true,
        ),
        (format!("HTTP/1.1 200 OK\r\n{JSON}{length}connection: close\r\n\r\n{OK}"), false),
        (format!("HTTP/1.0 200 OK\r\n{JSON}{length}\r\n{OK}"), false),
        // Nobody asked for what follows: it must not become the next answer.
        (
            format!("HTTP/1.1 200 OK\r\n{JSON}{length}\r\n{OK}HTTP/1.1 200 OK\r\n{length}\r\n{OK}"),
            false,
        ),
    ];
    for (answer, again) in cases {
        let mut server = Server::start().await;
        let (client, _) = client(&server, Some(Era::Modern));
        for connection in [0, u32::from(!again)] {
            let (result, ()) = tokio::join!(client.request(call(2)), async {
                let asked = server.next().await;
                assert_eq!(asked.connection, connection, "{answer}");
                asked.raw(&answer).await;
            });
            assert_eq!(told(result), r#"{"ok":true}"#, "{answer}");
        }
    }
    // Where nothing says how long it is, it ends with its connection.
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    for connection in [0, 1] {
        let (result, ()) = tokio::join!(client.request(call(2)), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, connection);
            asked.raw_and_close(&format!("HTTP/1.1 200 OK\r\n{JSON}\r\n{OK}")).await;
        });
        assert_eq!(told(result), r#"{"ok":true}"#);
    }
}

// MC-1: more than fits into one piece, both ways.
#[tokio::test]
async fn what_is_large_passes_whole() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    let text = format!("{:?}", "x".repeat(5 << 20));
    let params = RawValue::from_string(format!(r#"{{"text":{text}}}"#)).unwrap();
    for _ in 0..2 {
        let request = TransportRequest::new(2, "tools/call", Some(params.get()));
        let (result, ()) = tokio::join!(client.request(request), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, 0);
            assert!(asked.body.contains(&text));
            asked.json("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{text}}}"#)).await;
        });
        assert!(told(result) == text);
    }
}

// MC-2: a server that refuses a request need not have read it.
#[tokio::test]
async fn a_refusal_may_come_before_the_request_has_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut start = [0; 16];
        stream.read_exact(&mut start).await.unwrap();
        let text = "HTTP/1.1 413 Too Large\r\ncontent-length: 8\r\n\r\ntoo much";
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    };
    let heard = Arc::new(RecordingInbox::default());
    let client = HttpTransport::new("docs", &config(&url), heard).unwrap();
    let params = RawValue::from_string(format!("[{:?}]", "x".repeat(32 << 20))).unwrap();
    let request = TransportRequest::new(2, "tools/call", Some(params.get()));
    // The connection stands, and is not read, until the client has what it came for.
    let (result, _stream) = tokio::join!(client.request(request), serve);
    assert_eq!(told(result), "Http 413 too much");
}

// MC-2: a connection that is torn down says so in words.
#[tokio::test]
async fn a_reset_is_told_as_one() {
    for (said, expected) in [
        ("", "Lost connection reset by the server"),
        ("HTTP/1.1 200 OK\r\n", "Lost connection reset by the server"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
            "Protocol the answer broke off: connection reset by the server",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            // Unread bytes make the system reset the connection when it is closed.
            stream.read_exact(&mut [0; 16]).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            sleep(Duration::from_millis(100)).await;
        };
        let heard = Arc::new(RecordingInbox::default());
        let client = HttpTransport::new("docs", &config(&url), heard).unwrap();
        let (result, ()) = tokio::join!(client.request(call(2)), serve);
        assert_eq!(told(result), expected, "{said:?}");
    }
}
