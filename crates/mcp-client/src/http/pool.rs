//! Connections to one server, kept between requests.
//!
//! No task stands beside a connection: whoever waits for an answer moves the bytes itself, so that a request
//! costs no hop to another task, and dropping an answer closes its connection there and then.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{StatusCode, Uri};
use tokio::time::Instant;
use tower_service::Service;

use super::{
    connect::Connector,
    line::{Broken, Head, Line, Request},
    trouble,
};
use crate::transport::Failure;

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
    pub(super) async fn send(&self, request: &Request<'_>) -> Result<Answer, Failure> {
        loop {
            let (mut line, kept) = match self.kept() {
                Some(line) => (line, true),
                None => (Box::pin(self.connect()).await?, false),
            };
            match line.send(request).await {
                Ok(head) => return Ok(Answer { head, line: Some(line), idle: self.idle.clone() }),
                // The server had closed the connection meanwhile.
                Err(unanswered) if kept && unanswered.unsent => {}
                Err(unanswered) => return Err(Failure::Lost(trouble::reason(&unanswered.why))),
            }
        }
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
        // Boxed, for with its TLS it is large and moved often.
        Ok(Box::new(Line::new(stream)))
    }
}

/// An answer: its head, and the body as it comes. Its connection can be used again once it was read to its end.
pub(crate) struct Answer {
    head: Head,
    /// There until this is dropped.
    line: Option<Box<Line>>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl Answer {
    /// What the server says of the request.
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The head, as far as anything of it matters.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The next piece of the body; none at the end.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, Broken>> {
        poll_fn(|cx| self.poll_piece(cx)).await
    }

    /// Whether nothing more will come.
    pub(crate) fn is_end(&self) -> bool {
        self.line.as_ref().is_none_or(|line| line.is_ended())
    }

    /// How many bytes are announced at the least.
    pub(crate) fn announced(&self) -> u64 {
        self.line.as_ref().map_or(0, |line| line.announced())
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        match &mut self.line {
            Some(line) => line.poll_piece(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let Some(mut line) = self.line.take().filter(|line| line.is_reusable()) else { return };
        line.rest();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(Idle { line, since: Instant::now() });
        }
    }
}
