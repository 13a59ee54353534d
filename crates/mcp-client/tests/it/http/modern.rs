//! 2026-07-28: requests that stand alone.

use serde_json::value::RawValue;
use switchboard_mcp_client::{HttpTransport, Transport, TransportRequest};
use switchboard_mcp_wire::Era;

use super::{
    client::{RecordingInbox, call, client, config, initialize, told},
    server::Server,
};

const OK: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#;

// MC-1
#[tokio::test]
async fn the_probe_and_initialize_have_the_headers_of_their_eras() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, None);
    let probe = TransportRequest {
        cancellable: false,
        ..TransportRequest::new(1, "server/discover", None)
    };
    let (result, ()) = tokio::join!(client.request(probe), async {
        let asked = server.next().await;
        assert_eq!(asked.line(), "POST /mcp HTTP/1.1");
        let expected = [
            "accept: application/json, text/event-stream",
            "content-type: application/json",
            "mcp-method: server/discover",
            "mcp-protocol-version: 2026-07-28",
        ];
        assert_eq!(asked.headers(), expected);
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
    let (result, ()) = tokio::join!(client.request(initialize(1)), async {
        let asked = server.next().await;
        let expected =
            ["accept: application/json, text/event-stream", "content-type: application/json"];
        assert_eq!(asked.headers(), expected);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
}

// MC-1
#[tokio::test]
async fn a_call_says_in_headers_what_it_is() {
    let mut server = Server::start().await;
    let mut config = config(&server.url);
    config.headers = vec![("Authorization".to_owned(), "Bearer secret".to_owned())];
    assert!(!format!("{config:?}").contains("secret"));
    let client =
        HttpTransport::new("docs", &config, std::sync::Arc::new(RecordingInbox::default()))
            .unwrap();
    client.set_era(Era::Modern);
    let params = RawValue::from_string(r#"{"name":"echo",  "arguments":{}}"#.to_owned()).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers =
        [pair("Mcp-Name", "echo"), pair("Mcp-Param-City", "Köln"), pair("Mcp-Param-Note", " x")];
    let request = TransportRequest {
        headers: &headers,
        ..TransportRequest::new(1, "tools/call", Some(params.get()))
    };
    let (result, ()) = tokio::join!(client.request(request), async {
        let asked = server.next().await;
        let expected = [
            "accept: application/json, text/event-stream",
            "authorization: Bearer secret",
            "content-type: application/json",
            "mcp-method: tools/call",
            "mcp-name: echo",
            "mcp-param-city: =?base64?S8O2bG4=?=",
            "mcp-param-note: =?base64?IHg=?=",
            "mcp-protocol-version: 2026-07-28",
        ];
        assert_eq!(asked.headers(), expected);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",  "arguments":{}}}"#;
        assert_eq!(asked.body, body);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);
}

// MC-1: there are no sessions, whatever a server sends.
#[tokio::test]
async fn a_session_id_is_not_given_back() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    for id in 1..3 {
        let (_, ()) = tokio::join!(client.request(call(id)), async {
            let asked = server.next().await;
            assert_eq!(asked.header("mcp-session-id"), None);
            asked
                .answer("200 OK", "content-type: application/json\r\nmcp-session-id: s1\r\n", OK)
                .await;
        });
    }
    client.close().await;
    server.expect_silence().await;
}

// MC-1: dropping the request closes its stream, and says nothing else.
#[tokio::test]
async fn taking_back_closes_the_stream() {
    let mut server = Server::start().await;
    let (client, heard) = client(&server, Some(Era::Modern));
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(call(1)).await.map(drop) }
    });
    let mut stream = server.next().await.stream("").await;
    stream.message(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#).await;
    heard.wait_for(1).await;
    asking.abort();
    stream.closed().await;
    server.expect_silence().await;

    // The same before the answer has begun.
    let asking = tokio::spawn(async move { client.request(call(2)).await.map(drop) });
    let mut asked = server.next().await;
    asking.abort();
    asked.closed().await;
    server.expect_silence().await;
}

// MC-6: a stream of the new era cannot be resumed.
#[tokio::test]
async fn a_stream_that_ends_early_is_a_lost_answer() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    let (result, ()) = tokio::join!(client.request(call(1)), async {
        let mut stream = server.next().await.stream("").await;
        stream.send("id: 1\nretry: 10\ndata: \n\n").await;
        stream.end().await;
    });
    assert_eq!(told(result), "Lost the stream ended before the answer");
    server.expect_silence().await;
}
