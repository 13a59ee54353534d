//! Up to 2025-11-25: sessions.

use std::{cell::Cell, time::Duration};

use serde_json::value::RawValue;
use switchboard_mcp_client::{Failure, Transport};
use switchboard_mcp_wire::{Era, RpcError};
use tokio::time::sleep;

use super::{
    client::{call, client, initialize, legacy, open_session, told, with_session},
    server::Server,
};

const OK: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#;

// MC-1
#[tokio::test]
async fn a_session_from_its_beginning_to_its_end() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, None);
    open_session(&mut server, &client).await;

    let asked = server.next().await;
    assert_eq!(asked.line(), "GET /mcp HTTP/1.1");
    let expected =
        ["accept: text/event-stream", "mcp-protocol-version: 2025-11-25", "mcp-session-id: s1"];
    assert_eq!(asked.headers(), expected);
    asked.answer("405 Method Not Allowed", "", "").await;

    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let asked = server.next().await;
        let expected = [
            "accept: application/json, text/event-stream",
            "content-type: application/json",
            "mcp-protocol-version: 2025-11-25",
            "mcp-session-id: s1",
        ];
        assert_eq!(asked.headers(), expected);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);

    let ((), ()) = tokio::join!(client.close(), async {
        let asked = server.next().await;
        assert_eq!(asked.line(), "DELETE /mcp HTTP/1.1");
        let expected = [
            "accept: application/json, text/event-stream",
            "mcp-protocol-version: 2025-11-25",
            "mcp-session-id: s1",
        ];
        assert_eq!(asked.headers(), expected);
        asked.answer("405 Method Not Allowed", "", "").await;
    });
    assert_eq!(told(client.request(call(3)).await), "Lost the connection was closed");
    server.expect_silence().await;
}

// MC-1: what a server asks before its listening stream is there would reach nobody, and its call would never end.
#[tokio::test]
async fn requests_wait_for_the_listening_stream() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(legacy()));
    let opened = Cell::new(false);
    let open = async {
        server.next().await.accept().await;
        let asked = server.next().await;
        assert_eq!(asked.line(), "GET /mcp HTTP/1.1");
        // Time enough for a client that does not wait.
        sleep(Duration::from_millis(50)).await;
        opened.set(true);
        asked.stream("").await
    };
    let initialized = async {
        client.notify("notifications/initialized", None).await.unwrap();
        assert!(opened.get(), "requests go on without the stream");
    };
    tokio::join!(initialized, open);
}

// MC-1: a server without sessions gets no goodbye, and none of the later headers in older revisions.
#[tokio::test]
async fn older_revisions_have_fewer_headers() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Legacy("2025-03-26".to_owned())));
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let asked = server.next().await;
        let expected =
            ["accept: application/json, text/event-stream", "content-type: application/json"];
        assert_eq!(asked.headers(), expected);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
    client.close().await;
    server.expect_silence().await;
}

// MC-6
#[tokio::test]
async fn an_expired_session_is_named_and_can_be_opened_again() {
    let mut server = Server::start().await;
    let (client, _) = with_session(&mut server).await;
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let body =
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":2}"#;
        server.next().await.json("404 Not Found", body).await;
    });
    assert_eq!(told(result), "SessionExpired");
    let (result, ()) = tokio::join!(client.notify("notifications/x", None), async {
        server.next().await.answer("404 Not Found", "", "").await;
    });
    assert!(matches!(result, Err(Failure::SessionExpired)));
    let (result, ()) = tokio::join!(client.request(initialize(2)), async {
        let asked = server.next().await;
        assert_eq!(
            (asked.header("mcp-session-id"), asked.header("mcp-protocol-version")),
            (None, None)
        );
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
}

// MC-1: without a session, 404 is just a status.
#[tokio::test]
async fn not_found_without_a_session_is_http() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(legacy()));
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server
            .next()
            .await
            .answer("404 Not Found", "content-type: text/plain\r\n", "no such page")
            .await;
    });
    assert_eq!(told(result), "Http 404 no such page");
}

// MC-1
#[tokio::test]
async fn taking_back_is_told_to_the_server() {
    let mut server = Server::start().await;
    let (client, _) = with_session(&mut server).await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(call(7)).await.map(drop) }
    });
    let mut stream = server.next().await.stream("").await;
    stream.send(": hello\n\n").await;
    asking.abort();
    stream.closed().await;
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    let body = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","#,
        r#""params":{"requestId":7,"reason":"the caller no longer waits"}}"#
    );
    assert_eq!(asked.body, body);
    asked.accept().await;

    // What may not be taken back is not.
    let asking = tokio::spawn(async move { client.request(initialize(8)).await.map(drop) });
    let mut asked = server.next().await;
    asking.abort();
    asked.closed().await;
    server.expect_silence().await;
}

// MC-1
#[tokio::test]
async fn what_the_server_asks_on_a_stream_is_answered_by_a_post() {
    let mut server = Server::start().await;
    let (client, heard) = with_session(&mut server).await;
    let respond = async {
        heard.wait_for(2).await;
        let id = RawValue::from_string(r#""q-1""#.to_owned()).unwrap();
        let other = RawValue::from_string("5".to_owned()).unwrap();
        let roots = RawValue::from_string(r#"{"roots":[]}"#.to_owned()).unwrap();
        client.respond(&id, Ok(roots)).await.unwrap();
        client.respond(&other, Err(RpcError::new(-32601, "no"))).await.unwrap();
    };
    let serve = async {
        let mut stream = server.next().await.stream("").await;
        stream
            .message(
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            )
            .await;
        stream.message(r#"{"jsonrpc":"2.0","id":"q-1","method":"roots/list"}"#).await;
        let asked = server.next().await;
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":"q-1","result":{"roots":[]}}"#);
        assert_eq!(asked.header("mcp-session-id"), Some("s1"));
        asked.accept().await;
        let asked = server.next().await;
        assert_eq!(
            asked.body,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}"#
        );
        asked.accept().await;
        stream.message(OK).await;
        stream.end().await;
    };
    let (result, (), ()) = tokio::join!(client.request(call(2)), respond, serve);
    assert_eq!(told(result), r#"{"ok":true}"#);
    assert_eq!(heard.all(), [r#"notifications/progress {"progress":1}"#, r#""q-1": roots/list "#]);
}
