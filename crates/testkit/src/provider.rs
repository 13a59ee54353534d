//! A provider of models with scripted replies, sent in scripted pieces, that records its requests.
//!
//! Over a real socket: a stream can be cut anywhere, which no HTTP library would do for us.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use crate::http;

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    pause: Duration,
    end: ReplyEnd,
}

/// How a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyEnd {
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
            end: ReplyEnd::Complete,
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
        self.end = ReplyEnd::Cut;
        self
    }

    /// The same reply, but instead of its end there is silence.
    #[must_use]
    pub fn then_silence(mut self) -> Self {
        self.end = ReplyEnd::Silence;
        self
    }
}

impl Reply {
    async fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        http::write_head(stream, self.status, &self.headers).await?;
        for chunk in &self.chunks {
            http::write_chunk(stream, chunk).await?;
            if self.pause > Duration::ZERO {
                tokio::time::sleep(self.pause).await;
            }
        }
        match self.end {
            ReplyEnd::Complete => http::write_end(stream).await,
            ReplyEnd::Cut => http::write_cut(stream).await,
            ReplyEnd::Silence => Ok(()),
        }
    }
}

/// `data:` in front of what has no field yet.
fn as_event(event: &str) -> String {
    let has_field = ["data:", "event:", ":"].iter().any(|field| event.starts_with(field));
    if has_field { event.to_owned() } else { format!("data: {event}") }
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct CapturedRequest {
    /// Such as `POST`.
    pub method: String,
    /// The path and what follows it.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it is not JSON.
    pub body: Value,
}

impl CapturedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }
}

impl From<http::ReceivedRequest> for CapturedRequest {
    fn from(received: http::ReceivedRequest) -> Self {
        let http::ReceivedRequest { method, path, headers, body } = received;
        Self { method, path, headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }
}

#[derive(Debug, Default)]
struct ProviderState {
    replies: VecDeque<Reply>,
    captured: Vec<CapturedRequest>,
    abandoned: usize,
}

/// A server on this machine that ends with its owner.
#[derive(Debug)]
pub struct ProviderServer {
    address: SocketAddr,
    state: Arc<Mutex<ProviderState>>,
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
        let state = Arc::new(Mutex::new(ProviderState { replies, ..ProviderState::default() }));
        let task = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Self { address, state, task }
    }

    /// The root: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub fn captured(&self) -> Vec<CapturedRequest> {
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

async fn accept(listener: TcpListener, state: Arc<Mutex<ProviderState>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // A client that walks away is no failure of the server.
            let _ = serve(stream, &state).await;
        });
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<ProviderState>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let captured = CapturedRequest::from(http::read(&mut stream).await?);
    let reply = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.captured.push(captured);
        state.replies.pop_front()
    };
    let spent = || Reply::new(418, "text/plain", "the test has no more replies");
    let reply = reply.unwrap_or_else(spent);
    reply.write(&mut stream).await?;
    if reply.end == ReplyEnd::Silence {
        // Whatever ends the connection, the client did it.
        let _ = stream.read(&mut [0]).await;
        state.lock().unwrap_or_else(PoisonError::into_inner).abandoned += 1;
    }
    Ok(())
}
