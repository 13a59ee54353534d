//! Connections to one server, kept between requests.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, Uri, response};
use http_body::Body as _;
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use tokio::time::Instant;
use tower_service::Service;

use super::{
    connect::{Connector, Stream},
    error_reason,
};
use crate::transport::Failure;

/// Node and uvicorn close connections that were idle for 5 s. Closing ours earlier avoids sending a request on a
/// connection that is just being closed: it would be unknown whether the request was handled.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// How many idle connections are kept.
const MOST_IDLE: usize = 128;

/// The connections to one server.
pub(super) struct Pool {
    connector: Connector,
    origin: Uri,
    idle: Arc<Mutex<Vec<Idle>>>,
}

struct Idle {
    connection: Box<Connection>,
    since: Instant,
}

impl Pool {
    /// Creates a pool without connections to the server at `origin`.
    pub(super) fn new(connector: Connector, origin: Uri) -> Self {
        Self { connector, origin, idle: Arc::default() }
    }

    /// Sends a request on an idle connection, or on a new one.
    pub(super) async fn send(&self, mut request: PoolRequest) -> Result<PooledResponse, Failure> {
        loop {
            let (mut connection, is_reused) = match self.free() {
                Some(connection) => (connection, true),
                None => (Box::pin(self.connect()).await?, false),
            };
            let unanswered = match connection.send(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let idle = self.idle.clone();
                    return Ok(PooledResponse {
                        head,
                        body,
                        connection: Some(connection),
                        is_read: false,
                        idle,
                    });
                }
                Err(unanswered) => unanswered,
            };
            match unanswered.unsent {
                // The server had closed the connection meanwhile.
                Some(unsent) if is_reused => request = *unsent,
                _ => return Err(Failure::Lost(error_reason::reason(&unanswered.error))),
            }
        }
    }

    fn free(&self) -> Option<Box<Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Idle { mut connection, since }) = idle.pop() {
            if since.elapsed() < LONGEST_IDLE && connection.is_free() {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self) -> Result<Box<Connection>, Failure> {
        let stream = self.connector.clone().call(self.origin.clone()).await;
        let stream = stream.map_err(|error| Failure::Lost(error_reason::reason(&*error)))?;
        let connection = Connection::new(stream).await;
        // Boxed, because with TLS it is large and often moved.
        connection.map(Box::new).map_err(|error| Failure::Lost(error_reason::reason(&error)))
    }
}

/// A response: its head, and the body as it arrives. Its connection can be reused once the body was read to its end.
pub(crate) struct PooledResponse {
    head: response::Parts,
    body: Incoming,
    /// `Some` until this is dropped.
    connection: Option<Box<Connection>>,
    /// Whether the body was read to its end.
    is_read: bool,
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl PooledResponse {
    /// Returns the status.
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns the bytes of a header, if it is there.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&[u8]> {
        self.head.headers.get(name).map(http::HeaderValue::as_bytes)
    }

    /// Returns the next piece of the body, `None` at the end.
    pub(crate) async fn piece(&mut self) -> Option<hyper::Result<Bytes>> {
        if self.is_end() {
            return None;
        }
        let Self { body, connection, .. } = self;
        let connection = connection.as_mut()?;
        let piece = poll_fn(|cx| connection.poll_piece(body, cx)).await;
        self.is_read = piece.is_none();
        piece
    }

    /// Whether the body has ended.
    pub(crate) fn is_end(&self) -> bool {
        self.is_read || self.body.is_end_stream()
    }

    /// Returns the lower bound of the body's size, in bytes.
    pub(crate) fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }
}

impl Drop for PooledResponse {
    fn drop(&mut self) {
        let is_end = self.is_end();
        let free = |connection: &mut Box<Connection>| is_end && connection.is_free();
        let Some(connection) = self.connection.take_if(free) else { return };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }
}

/// A request, and its body.
pub(super) type PoolRequest = Request<Full<Bytes>>;

/// One HTTP/1.1 connection, on hyper. It serves one request at a time, until the end of the response.
///
/// It has no task: the future that waits for a response polls it, so that a request costs no hop to another task, and
/// dropping a response closes its connection at once.
struct Connection {
    requests: http1::SendRequest<Full<Bytes>>,
    /// Reads and writes; `None` once the connection has ended.
    io: Option<http1::Connection<Stream, Full<Bytes>>>,
}

/// A request without a response.
struct UnansweredRequest {
    error: hyper::Error,
    /// The request, if nothing of it was sent.
    unsent: Option<Box<PoolRequest>>,
}

impl Connection {
    /// Creates a connection.
    async fn new(stream: Stream) -> hyper::Result<Self> {
        let (requests, io) = http1::handshake(stream).await?;
        Ok(Self { requests, io: Some(io) })
    }

    /// Sends a request and returns the head of the response.
    async fn send(
        &mut self,
        request: PoolRequest,
    ) -> Result<Response<Incoming>, UnansweredRequest> {
        let mut response = pin!(self.requests.try_send_request(request));
        let io = &mut self.io;
        let answered = poll_fn(|cx| {
            drive(io, cx);
            response.as_mut().poll(cx)
        });
        answered.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            UnansweredRequest { error: error.into_error(), unsent }
        })
    }

    /// Returns the next piece of the response's body, `None` at the end.
    fn poll_piece(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Bytes>>> {
        // If no data is ready yet, the connection is polled, and then the body again.
        match poll_data(body, cx) {
            Poll::Pending => {
                drive(&mut self.io, cx);
                poll_data(body, cx)
            }
            ready => ready,
        }
    }

    /// Whether the next request can be sent now: the last response has ended, and the server has neither closed the
    /// connection nor sent anything since.
    fn is_free(&mut self) -> bool {
        drive(&mut self.io, &mut Context::from_waker(Waker::noop()));
        self.io.is_some() && self.requests.is_ready()
    }
}

fn drive(io: &mut Option<http1::Connection<Stream, Full<Bytes>>>, cx: &mut Context<'_>) {
    // An error is also returned to the request.
    if io.as_mut().is_some_and(|io| Pin::new(io).poll(cx).is_ready()) {
        *io = None;
    }
}

fn poll_data(body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
    loop {
        match std::task::ready!(Pin::new(&mut *body).poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            Some(Ok(frame)) => {
                // Trailers are ignored.
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
        }
    }
}
