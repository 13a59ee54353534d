//! An HTTP/1.1 server without a will of its own: the test takes each request and writes the answer.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) url: String,
    requests: mpsc::UnboundedReceiver<ReceivedRequest>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                tokio::spawn(read(stream, connection, sender.clone()));
            }
        });
        Self { url, requests }
    }

    /// The next request, whichever connection it comes on.
    pub(crate) async fn next(&mut self) -> ReceivedRequest {
        timeout(PATIENCE, self.requests.recv()).await.expect("no request came").unwrap()
    }

    /// Checks that no request comes for a while.
    pub(crate) async fn expect_silence(&mut self) {
        let request = timeout(Duration::from_millis(150), self.requests.recv()).await;
        assert!(request.is_err(), "{}", request.unwrap().unwrap().head);
    }
}

/// Reads one request; the connection goes to the test with it.
async fn read(
    mut stream: TcpStream,
    connection: u32,
    next: mpsc::UnboundedSender<ReceivedRequest>,
) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).unwrap();
    let length = value(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let body = String::from_utf8(body).unwrap();
    // The test may have ended.
    let _ = next.clone().send(ReceivedRequest { head, body, connection, stream, next });
}

fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// A request that wants an answer.
pub(crate) struct ReceivedRequest {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
    /// The number of its connection.
    pub(crate) connection: u32,
    stream: TcpStream,
    next: mpsc::UnboundedSender<Self>,
}

impl ReceivedRequest {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        value(&self.head, name)
    }

    /// All headers but those that HTTP itself needs, in the order of the alphabet.
    pub(crate) fn headers(&self) -> Vec<&str> {
        let of_http =
            |line: &&str| !line.starts_with("host:") && !line.starts_with("content-length:");
        let mut lines: Vec<&str> =
            self.head.lines().skip(1).filter(|line| !line.is_empty()).filter(of_http).collect();
        lines.sort_unstable();
        lines
    }

    /// Answers with these very bytes; the connection then waits for its next request.
    pub(crate) async fn raw(mut self, answer: &str) {
        self.stream.write_all(answer.as_bytes()).await.unwrap();
        tokio::spawn(read(self.stream, self.connection, self.next));
    }

    /// Answers with these very bytes and closes the connection.
    pub(crate) async fn raw_and_close(mut self, answer: &str) {
        self.stream.write_all(answer.as_bytes()).await.unwrap();
        self.stream.shutdown().await.unwrap();
    }

    pub(crate) async fn answer(self, status: &str, more: &str, body: &str) {
        let length = body.len();
        self.raw(&format!("HTTP/1.1 {status}\r\n{more}content-length: {length}\r\n\r\n{body}"))
            .await;
    }

    pub(crate) async fn json(self, status: &str, body: &str) {
        self.answer(status, "content-type: application/json\r\n", body).await;
    }

    pub(crate) async fn accept(self) {
        self.answer("202 Accepted", "", "").await;
    }

    /// Begins a stream of events.
    pub(crate) async fn stream(mut self, more: &str) -> Streaming {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{more}transfer-encoding: chunked\r\n\r\n"
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        Streaming(self)
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn closed(&mut self) {
        let mut rest = Vec::new();
        let read = timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await;
        // A reset is a way to close, too.
        let _ = read.expect("the client keeps the connection");
        assert!(rest.is_empty(), "more than one request on a connection");
    }
}

/// An answer whose end is open.
pub(crate) struct Streaming(ReceivedRequest);

impl Streaming {
    pub(crate) async fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).await;
    }

    /// Sends one HTTP chunk.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.0.stream.write_all(&chunk).await.unwrap();
    }

    /// Sends a message as an event.
    pub(crate) async fn message(&mut self, json: &str) {
        self.send(&format!("event: message\ndata: {json}\n\n")).await;
    }

    /// Ends the stream in order.
    pub(crate) async fn end(self) {
        self.0.raw("0\r\n\r\n").await;
    }

    /// Closes the connection without ending the stream.
    pub(crate) fn break_off(self) {
        drop(self);
    }

    pub(crate) async fn closed(&mut self) {
        self.0.closed().await;
    }
}
