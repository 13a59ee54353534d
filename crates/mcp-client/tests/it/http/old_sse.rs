//! HTTP+SSE of 2024-11-05.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use switchboard_mcp_client::{Failure, HttpConfig, OldSseTransport, Transport};

use super::{
    client::{RecordingInbox, call, config, told},
    server::{Server, Streaming},
};

const OK: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#;

fn client(server: &Server) -> (Arc<OldSseTransport>, Arc<RecordingInbox>) {
    let heard = Arc::new(RecordingInbox::default());
    let config = HttpConfig {
        headers: vec![("x-key".to_owned(), "k".to_owned())],
        connect_timeout: Duration::from_millis(500),
        ..config(&server.url)
    };
    (OldSseTransport::new("docs", &config, heard.clone()).unwrap(), heard)
}

/// A client whose stream stands.
async fn connected(server: &mut Server) -> (Arc<OldSseTransport>, Arc<RecordingInbox>, Streaming) {
    let (client, heard) = client(server);
    let serve = async {
        let mut stream = server.next().await.stream("").await;
        stream.send("event: endpoint\ndata: /messages?session=1\n\n").await;
        server.next().await.accept().await;
        stream
    };
    let (told, stream) = tokio::join!(client.notify("hello", None), serve);
    told.unwrap();
    (client, heard, stream)
}

// MC-1
#[tokio::test]
async fn a_connection_from_its_beginning_to_its_end() {
    let mut server = Server::start().await;
    let (client, heard) = client(&server);
    let serve = async {
        let asked = server.next().await;
        assert_eq!(asked.line(), "GET /mcp HTTP/1.1");
        assert_eq!(asked.headers(), ["accept: text/event-stream", "x-key: k"]);
        let mut stream = asked.stream("").await;
        stream.send(": hi\n\nevent: endpoint\ndata: messages?session=1\n\n").await;
        let asked = server.next().await;
        assert_eq!(asked.line(), "POST /messages?session=1 HTTP/1.1");
        assert_eq!(asked.header("x-key"), Some("k"));
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#);
        asked.accept().await;
        stream.message(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#).await;
        stream.send("data: garbage\n\n").await;
        stream.message(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        stream.message(OK).await;
        stream
    };
    let (result, mut stream) = tokio::join!(client.request(call(2)), serve);
    assert_eq!(told(result), r#"{"ok":true}"#);
    assert_eq!(heard.all(), ["notifications/progress ", "1: ping "]);

    let id = RawValue::from_string("1".to_owned()).unwrap();
    let pong = RawValue::from_string("{}".to_owned()).unwrap();
    let (answered, ()) = tokio::join!(client.respond(&id, Ok(pong)), async {
        let asked = server.next().await;
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        asked.accept().await;
    });
    answered.unwrap();

    client.close().await;
    stream.closed().await;
    assert_eq!(client.lost().await, "the connection was closed");
    assert_eq!(told(client.request(call(3)).await), "Lost the connection was closed");
}

// MC-1: the answer may come before its POST has ended.
#[tokio::test]
async fn an_answer_may_overtake_its_post() {
    let mut server = Server::start().await;
    let (client, _, mut stream) = connected(&mut server).await;
    let (result, _asked) = tokio::join!(client.request(call(2)), async {
        let asked = server.next().await;
        stream.message(OK).await;
        asked
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
}

// MC-6
#[tokio::test]
async fn the_end_of_the_stream_ends_everything() {
    let mut server = Server::start().await;
    let (client, _, stream) = connected(&mut server).await;
    let (result, why, ()) = tokio::join!(client.request(call(2)), client.lost(), async {
        server.next().await.accept().await;
        stream.end().await;
    });
    assert_eq!(
        (&*told(result), &*why),
        ("Lost the server ended the stream", "the server ended the stream")
    );
    assert_eq!(told(client.request(call(3)).await), "Lost the server ended the stream");
    let late = client.notify("n", None).await;
    assert!(matches!(late, Err(Failure::Lost(why)) if why == "the server ended the stream"));
    server.expect_silence().await;
}

// MC-1
#[tokio::test]
async fn taking_back_is_told_to_the_server() {
    let mut server = Server::start().await;
    let (client, _, mut stream) = connected(&mut server).await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(call(2)).await.map(drop) }
    });
    server.next().await.accept().await;
    asking.abort();
    let asked = server.next().await;
    assert!(asked.body.contains(r#""method":"notifications/cancelled","params":{"requestId":2,"#));
    asked.accept().await;
    // The late answer disturbs nobody.
    stream.message(OK).await;
    let (result, ()) = tokio::join!(client.request(call(3)), async {
        server.next().await.accept().await;
        stream.message(r#"{"jsonrpc":"2.0","id":3,"result":3}"#).await;
    });
    assert_eq!(told(result), "3");
}

// MC-1: messages go to the server that was asked for and to no other.
#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let mut server = Server::start().await;
    let (client, _) = client(&server);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let mut stream = server.next().await.stream("").await;
        stream.send("event: endpoint\ndata: http://elsewhere.invalid/messages\n\n").await;
    });
    let refused =
        "Protocol the server's endpoint is not its own: http://elsewhere.invalid/messages";
    assert_eq!(told(result), refused);
}

// MC-2
#[tokio::test]
async fn a_server_that_is_no_such_server_is_told() {
    let mut server = Server::start().await;
    let (client, _) = client(&server);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.answer("405 Method Not Allowed", "", "no GET").await;
    });
    assert_eq!(told(result), "Http 405 no GET");
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.json("200 OK", "{}").await;
    });
    assert_eq!(told(result), "Protocol the server offers no event stream");
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.stream("").await.end().await;
    });
    assert_eq!(told(result), "Lost the stream ended before it named an endpoint");
    let (result, _stream) =
        tokio::join!(client.request(call(2)), async { server.next().await.stream("").await });
    assert_eq!(told(result), "Lost the server named no endpoint within 0.5 s");
}

// MC-6: a POST that is refused fails its request at once.
#[tokio::test]
async fn a_refused_post_fails_its_request() {
    let mut server = Server::start().await;
    let (client, _, _stream) = connected(&mut server).await;
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.answer("404 Not Found", "", "no such session").await;
    });
    assert_eq!(told(result), "Http 404 no such session");
    server.expect_silence().await;
}
