//! A provider of models that says what it is told to, in the pieces it is told to, and remembers what it was asked.
//!
//! Raw HTTP/1.1 over a real socket: a stream can be cut anywhere, which no HTTP library would do for us.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    pause: Duration,
    end: End,
}

/// How a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// As it should.
    Complete,
    /// The connection closes in the middle.
    Cut,
    /// Nothing more comes, but the connection stays.
    Silence,
}

impl Reply {
    /// An answer of this status, content type and body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            chunks: vec![body.into()],
            pause: Duration::ZERO,
            end: End::Complete,
        }
    }

    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Server-sent events, a blank line between each two; what is no line of an event becomes its data.
    pub fn events<T: AsRef<str>>(events: &[T]) -> Self {
        let body: String =
            events.iter().map(|event| format!("{}\n\n", as_event(event.as_ref()))).collect();
        Self::new(200, "text/event-stream; charset=utf-8", body)
    }

    /// Lines of JSON.
    pub fn lines<T: AsRef<str>>(lines: &[T]) -> Self {
        let body: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
        Self::new(200, "application/x-ndjson", body)
    }

    /// The same reply with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same reply in pieces of `size` bytes, which takes no regard to characters or lines.
    #[must_use]
    pub fn in_pieces(mut self, size: usize) -> Self {
        self.chunks = self.chunks.concat().chunks(size.max(1)).map(<[u8]>::to_vec).collect();
        self
    }

    /// The same reply with a pause after each piece.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// The same reply, but the connection breaks before its end.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    /// The same reply, but instead of its end there is silence.
    #[must_use]
    pub fn then_silence(mut self) -> Self {
        self.end = End::Silence;
        self
    }
}

/// `data:` in front of what has no field yet.
fn as_event(event: &str) -> String {
    let has_field = ["data:", "event:", ":"].iter().any(|field| event.starts_with(field));
    if has_field { event.to_owned() } else { format!("data: {event}") }
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Such as `POST`.
    pub method: String,
    /// The path and what follows it.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, `null` where it is not JSON.
    pub body: Value,
}

impl Captured {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    captured: Vec<Captured>,
    abandoned: usize,
}

/// A server on this machine that ends with its owner.
#[derive(Debug)]
pub struct ProviderServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: AbortHandle,
}

impl ProviderServer {
    /// Starts a server that gives these replies, one per request, and then 418.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let replies = replies.into_iter().collect();
        let state = Arc::new(Mutex::new(State { replies, ..State::default() }));
        let task = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Self { address, state, task }
    }

    /// The root: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub fn captured(&self) -> Vec<Captured> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).captured.clone()
    }

    /// How many clients closed the connection while the server was silent.
    pub fn abandoned(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).abandoned
    }

    /// Adds a reply to those that are left.
    pub fn push(&self, reply: Reply) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).replies.push_back(reply);
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // A client that walks away is no failure of the server.
            let _ = serve(stream, &state).await;
        });
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let captured = read(&mut stream).await?;
    let reply = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.captured.push(captured);
        state.replies.pop_front()
    };
    let spent = || Reply::new(418, "text/plain", "the test has no more replies");
    let reply = reply.unwrap_or_else(spent);
    write(&mut stream, &reply).await?;
    if reply.end == End::Silence {
        // Whatever ends the connection, the client did it.
        let _ = stream.read(&mut [0]).await;
        state.lock().unwrap_or_else(PoisonError::into_inner).abandoned += 1;
    }
    Ok(())
}

async fn read(stream: &mut TcpStream) -> io::Result<Captured> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0_usize);
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
    Ok(Captured { method, path, headers, body })
}

async fn write(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} Told\r\ntransfer-encoding: chunked\r\nconnection: close\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    for chunk in reply.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
        stream.write_all(&framed).await?;
        if reply.pause > Duration::ZERO {
            tokio::time::sleep(reply.pause).await;
        }
    }
    match reply.end {
        End::Complete => stream.write_all(b"0\r\n\r\n").await?,
        End::Cut => {}
        End::Silence => return Ok(()),
    }
    stream.shutdown().await
}
