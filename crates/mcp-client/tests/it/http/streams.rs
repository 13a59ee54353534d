//! Event streams: cut anywhere, broken off, resumed.

use std::time::Duration;

use switchboard_mcp_client::Transport;
use switchboard_mcp_wire::Era;
use tokio::time::Instant;

use super::{
    client::{call, client, open_session, told, with_session},
    server::Server,
};

const OK: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#;

// MC-1: progress comes in its order and before the result, however the network cuts the stream.
#[tokio::test]
async fn a_stream_may_be_cut_anywhere() {
    let mut server = Server::start().await;
    let (client, heard) = client(&server, Some(Era::Modern));
    let notification = |n: u32| {
        format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"n\",\ndata: \"params\":{{\"grüße\":{n}}}}}\n\n"
        )
    };
    let text = format!(
        "\u{feff}: hello\r\n\r\n{}{}event: other\ndata: nothing of ours\n\nevent: message\ndata: {OK}\r\r",
        notification(1),
        notification(2),
    );
    for size in [1, 2, 3, 7, 64, 4096] {
        let (result, ()) = tokio::join!(client.request(call(2)), async {
            let mut stream = server.next().await.stream("").await;
            for chunk in text.as_bytes().chunks(size) {
                stream.send_bytes(chunk).await;
            }
            stream.end().await;
        });
        assert_eq!(told(result), r#"{"ok":true}"#, "chunks of {size}");
    }
    let pair = ["n {\"grüße\":1}", "n {\"grüße\":2}"];
    assert_eq!(heard.all(), pair.repeat(6));
}

// MC-1: batches of 2025-03-26, in JSON and in events.
#[tokio::test]
async fn a_batch_is_taken_apart() {
    let mut server = Server::start().await;
    let (client, heard) = client(&server, Some(Era::Legacy("2025-03-26".to_owned())));
    let batch = format!(r#"[{{"jsonrpc":"2.0","method":"n"}}, {OK}]"#);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.json("200 OK", &batch).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.stream("").await.message(&batch).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
    assert_eq!(heard.all(), ["n ", "n "]);
}

// MC-6: the server ends the stream, asks to come back after a while, and answers then.
#[tokio::test]
async fn a_broken_answer_is_resumed_where_it_broke() {
    for orderly in [true, false] {
        let mut server = Server::start().await;
        let (client, heard) = with_session(&mut server).await;
        let serve = async {
            let mut stream = server.next().await.stream("").await;
            stream.send("id: e1\nretry: 200\ndata: \n\n").await;
            stream
                .send("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\nid: e3\ndata: half")
                .await;
            heard.wait_for(1).await;
            let ended = Instant::now();
            if orderly {
                stream.end().await
            } else {
                stream.break_off()
            }

            let asked = server.next().await;
            assert!(ended.elapsed() >= Duration::from_millis(190), "{:?}", ended.elapsed());
            assert_eq!(asked.line(), "GET /mcp HTTP/1.1");
            let expected = [
                "accept: text/event-stream",
                "last-event-id: e2",
                "mcp-protocol-version: 2025-11-25",
                "mcp-session-id: s1",
            ];
            assert_eq!(asked.headers(), expected);
            // Nothing to say yet: the server has us come back once more, sooner.
            let mut stream = asked.stream("").await;
            stream.send("id: e4\nretry: 30\n\n").await;
            stream.end().await;

            let asked = server.next().await;
            assert_eq!(asked.header("last-event-id"), Some("e4"));
            let mut stream = asked.stream("").await;
            stream.message(OK).await;
            stream.end().await;
        };
        let (result, ()) = tokio::join!(client.request(call(2)), serve);
        assert_eq!(told(result), r#"{"ok":true}"#);
        assert_eq!(heard.all(), ["n "]);
    }
}

// MC-6: what cannot be resumed ends.
#[tokio::test]
async fn an_answer_that_cannot_be_resumed_is_lost() {
    let mut server = Server::start().await;
    let (client, _) = with_session(&mut server).await;
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let mut stream = server.next().await.stream("").await;
        stream.send("id: e1\nretry: 20\ndata: \n\n").await;
        stream.end().await;
        server.next().await.answer("405 Method Not Allowed", "", "").await;
    });
    let text = "Lost the stream broke off and the server does not resume it: HTTP status 405";
    assert_eq!(told(result), text);

    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let mut stream = server.next().await.stream("").await;
        stream.send("id: e1\nretry: 20\ndata: \n\n").await;
        stream.end().await;
        for _ in 0..3 {
            server.next().await.answer("503 Service Unavailable", "", "").await;
        }
    });
    assert_eq!(told(result), "Lost the stream broke off and cannot be resumed: HTTP status 503");

    // Without an id there is nowhere to resume from.
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.stream("").await.break_off();
    });
    assert!(told(result).starts_with("Lost the answer broke off: "));
    server.expect_silence().await;
}

// MC-1: what the server says outside of answers, across broken streams.
#[tokio::test]
async fn the_listening_stream_is_followed() {
    let mut server = Server::start().await;
    let (client, heard) = client(&server, None);
    open_session(&mut server, &client).await;
    let mut stream = server.next().await.stream("").await;
    stream
        .send(
            "retry: 30\nid: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\ndata: garbage\n\n",
        )
        .await;
    heard.wait_for(1).await;
    stream.break_off();
    // Not there for a moment: asked again.
    server.next().await.answer("503 Service Unavailable", "", "").await;
    let asked = server.next().await;
    assert_eq!(asked.header("last-event-id"), Some("a"));
    let mut stream = asked.stream("").await;
    stream.message(r#"{"jsonrpc":"2.0","method":"two"}"#).await;
    assert_eq!(heard.wait_for(2).await, ["one ", "two "]);

    // Closing ends it, also for the server.
    let ((), ()) = tokio::join!(client.close(), async {
        server.next().await.answer("200 OK", "", "").await;
    });
    stream.closed().await;
    server.expect_silence().await;
}

// MC-6: closing ends what waits.
#[tokio::test]
async fn closing_ends_requests_in_flight() {
    let mut server = Server::start().await;
    let (client, _) = with_session(&mut server).await;
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        let mut asked = server.next().await;
        let ((), ()) = tokio::join!(client.close(), async {
            server.next().await.answer("200 OK", "", "").await;
        });
        asked.closed().await;
    });
    assert_eq!(told(result), "Lost the connection was closed");
    server.expect_silence().await;
}
