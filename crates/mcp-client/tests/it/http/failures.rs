//! Answers that are none.

use switchboard_mcp_client::{HttpConfig, HttpTransport, Transport};
use switchboard_mcp_wire::Era;

use super::{
    client::{RecordingInbox, call, config, told},
    server::Server,
};

/// What a request comes to when the server answers with these bytes and closes the connection.
async fn answered(answer: &str) -> String {
    let mut server = Server::start().await;
    let config = HttpConfig { max_message: 1000, ..config(&server.url) };
    let client =
        HttpTransport::new("docs", &config, std::sync::Arc::new(RecordingInbox::default()))
            .unwrap();
    client.set_era(Era::Modern);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.raw_and_close(answer).await;
    });
    told(result)
}

async fn with(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}");
    answered(&format!("{head}\r\n\r\n{body}")).await
}

const JSON: &str = "application/json; charset=utf-8";

// MC-1: an error that the server answered with is that, under any status.
#[tokio::test]
async fn json_rpc_errors_keep_their_code() {
    let error = |id: &str, code: i32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#)
    };
    assert_eq!(with("200 OK", JSON, &error("2", -32602)).await, "Rpc -32602 no");
    assert_eq!(with("200 OK", JSON, &error("null", -32700)).await, "Rpc -32700 no");
    assert_eq!(with("400 Bad Request", JSON, &error("2", -32022)).await, "Rpc -32022 no");
    assert_eq!(with("404 Not Found", JSON, &error("2", -32601)).await, "Rpc -32601 no");
    assert_eq!(
        with("200 OK", "text/event-stream", &format!("data: {}\n\n", error("2", -1))).await,
        "Rpc -1 no"
    );

    // One that names no request may be about anything: the status decides.
    let unnamed = error("null", -32000);
    let told = with("400 Bad Request", JSON, &unnamed).await;
    assert_eq!(told, format!("Http 400 [-32000 no] {unnamed}"));
    let barred = error("2", -32001);
    let told = with("401 Unauthorized", JSON, &barred).await;
    assert_eq!(told, format!("Http 401 [-32001 no] {barred}"));
}

// MC-1
#[tokio::test]
async fn other_statuses_are_told_with_their_text() {
    let page =
        "<html>\n  <title>\u{1b}[31m\n  Bad   gateway</title><body>a long page</body></html>";
    let told = with("502 Bad Gateway", "text/html", page).await;
    assert_eq!(told, "Http 502 [31m Bad gateway");
    let told = with("500 Internal Server Error", "text/plain", &"ü".repeat(900)).await;
    assert_eq!(told, format!("Http 500 {}…", "ü".repeat(300)));
    assert_eq!(with("503 Service Unavailable", "text/plain", "").await, "Http 503 ");
}

// MC-1
#[tokio::test]
async fn bodies_that_are_no_answer_are_told_apart() {
    let neither = "Protocol the answer is neither JSON nor an event stream but";
    assert_eq!(
        with("200 OK", "text/html", "<p>Login").await,
        format!("{neither} `text/html`: <p>Login")
    );
    let untyped = answered("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(untyped, format!("{neither} no content type"));
    let accepted = answered("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(accepted, "Protocol the server took the request but does not answer it");

    let told = with("200 OK", JSON, "{oops").await;
    assert!(
        told.starts_with("Protocol the answer is not JSON-RPC: ") && told.ends_with(": {oops"),
        "{told}"
    );
    let told = with("200 OK", JSON, "{\"hello\":1}").await;
    assert!(told.starts_with("Protocol the answer is not JSON-RPC: no \"jsonrpc\""), "{told}");
    let other = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    assert_eq!(with("200 OK", JSON, other).await, "Protocol the answer is for another request");
    let empty = with("200 OK", JSON, "").await;
    assert!(empty.starts_with("Protocol the answer is not JSON-RPC: EOF"), "{empty}");

    let cut = answered(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
    )
    .await;
    assert!(cut.starts_with("Protocol the answer broke off: "), "{cut}");
}

// MC-5: an event of garbage is skipped; where it was the answer, that is said.
#[tokio::test]
async fn garbage_among_events_is_skipped() {
    let events = "text/event-stream";
    let answer = r#"data: {"jsonrpc":"2.0","id":2,"result":1}"#;
    assert_eq!(with("200 OK", events, &format!("data: oops\n\n{answer}\n\n")).await, "1");
    let told = with("200 OK", events, "data: oops\n\n").await;
    let problem = "Protocol the server sent an event that is not JSON-RPC: ";
    assert!(told.starts_with(problem) && told.ends_with(": oops"), "{told}");
    let other = "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":0}\n\n";
    assert_eq!(with("200 OK", events, &format!("{other}{answer}\n\n")).await, "1");
}

// MC-6: no answer can fill our memory.
#[tokio::test]
async fn large_answers_are_refused() {
    let large = format!(r#"{{"jsonrpc":"2.0","id":2,"result":"{}"}}"#, "x".repeat(2000));
    let refused = "Protocol the answer has more than 1000 bytes";
    assert_eq!(with("200 OK", JSON, &large).await, refused);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    assert_eq!(answered(&format!("{head}{large}")).await, refused);
    let event = format!("data: {large}\n\n");
    let told = with("200 OK", "text/event-stream", &event).await;
    assert_eq!(told, "Protocol the server sent an event of more than 1000 bytes");
}
