//! Connections to one server, kept between requests.
//!
//! No task stands beside a connection: whoever waits for an answer moves the bytes itself, so that a request
//! costs no hop to another task, and dropping an answer closes its connection there and then.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::{
    body::{Body, Frame, Incoming},
    client::conn::http1::{Connection, SendRequest, handshake},
};
use tokio::time::Instant;
use tower_service::Service;

use super::{
    connect::{Connector, Stream},
    trouble,
};
use crate::client::transport::Failure;

/// Node and uvicorn close what was idle for 5 s. Letting go before that keeps us from writing a request into a
/// connection that is just being closed: nobody could tell whether it was handled.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// How many connections wait for a next request.
const MOST_IDLE: usize = 128;

/// The connections to one server.
pub(super) struct Pool {
    connector: Connector,
    origin: Uri,
    idle: Arc<Mutex<Vec<Idle>>>,
}

struct Idle {
    line: Box<Line>,
    since: Instant,
}

impl Pool {
    /// No connections yet, to the server at `origin`.
    pub(super) fn new(connector: Connector, origin: Uri) -> Self {
        Self { connector, origin, idle: Arc::default() }
    }

    /// Sends a request on a connection that is free, or on a new one.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Answer>, Failure> {
        loop {
            let (mut line, kept) = match self.kept() {
                Some(line) => (line, true),
                None => (Box::pin(self.connect()).await?, false),
            };
            let mut refused = match line.send(request).await {
                Ok(head) => return Ok(head.map(|body| self.answer(body, line))),
                Err(refused) => refused,
            };
            // Not a byte of it was sent: the server had closed the connection meanwhile.
            match refused.take_message() {
                Some(unsent) if kept => request = unsent,
                _ => return Err(Failure::Lost(trouble::reason(refused.error()))),
            }
        }
    }

    fn answer(&self, body: Incoming, line: Box<Line>) -> Answer {
        Answer { body, read: false, line: Some(line), idle: self.idle.clone() }
    }

    fn kept(&self) -> Option<Box<Line>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Idle { mut line, since }) = idle.pop() {
            if since.elapsed() < LONGEST_IDLE && line.is_free() {
                return Some(line);
            }
        }
        None
    }

    async fn connect(&self) -> Result<Box<Line>, Failure> {
        let stream = self.connector.clone().call(self.origin.clone()).await;
        let stream = stream.map_err(|error| Failure::Lost(trouble::reason(&*error)))?;
        let (sender, connection) =
            handshake(stream).await.map_err(|error| Failure::Lost(trouble::reason(&error)))?;
        Ok(Box::new(Line { sender, connection, ended: false }))
    }
}

/// One connection: where requests go in, and what carries them. Boxed, for with its TLS it is large and moved often.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<Stream, Full<Bytes>>,
    ended: bool,
}

type Unsent = hyper::client::conn::TrySendError<Request<Full<Bytes>>>;

impl Line {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Unsent> {
        let mut head = pin!(self.sender.try_send_request(request));
        let (connection, ended) = (&mut self.connection, &mut self.ended);
        poll_fn(|cx| {
            carry(connection, ended, cx);
            head.as_mut().poll(cx)
        })
        .await
    }

    /// Whether the next request can be sent now.
    fn is_free(&mut self) -> bool {
        // Nobody waits for this: it only lets the connection see what has happened to it.
        carry(&mut self.connection, &mut self.ended, &mut Context::from_waker(Waker::noop()));
        !self.ended && self.sender.is_ready()
    }
}

/// Moves bytes. How a connection ended, its request or answer is told, too.
fn carry(connection: &mut Connection<Stream, Full<Bytes>>, ended: &mut bool, cx: &mut Context<'_>) {
    if !*ended {
        *ended = Pin::new(connection).poll(cx).is_ready();
    }
}

/// The body of an answer; its connection can be used again once it was read to its end.
pub(in crate::client) struct Answer {
    body: Incoming,
    /// Whether its end was read.
    read: bool,
    line: Option<Box<Line>>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl Answer {
    /// The next piece; none at the end.
    pub(in crate::client) async fn frame(&mut self) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|cx| self.poll_frame(cx)).await
    }

    /// Whether nothing more will come.
    pub(in crate::client) fn is_end(&self) -> bool {
        self.read || self.body.is_end_stream()
    }

    /// How many bytes are announced at the least.
    pub(in crate::client) fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let mut frame = Pin::new(&mut self.body).poll_frame(cx);
        if let (Poll::Pending, Some(line)) = (&frame, &mut self.line) {
            carry(&mut line.connection, &mut line.ended, cx);
            frame = Pin::new(&mut self.body).poll_frame(cx);
        }
        self.read |= matches!(frame, Poll::Ready(None));
        frame
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let Some(mut line) = self.line.take().filter(|_| self.is_end()) else { return };
        if line.is_free() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MOST_IDLE {
                idle.push(Idle { line, since: Instant::now() });
            }
        }
    }
}
