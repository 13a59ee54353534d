//! One connection to a server, and HTTP/1.1 on it: a request goes out, the head of its answer comes back, then the
//! body.
//!
//! Our requests are all of one shape, and three headers of an answer matter to us. A client for everything does much
//! besides, and each call would pay for it (docs/performance.md).

mod body;
mod head;

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWrite;
use tokio_util::io::poll_read_buf;

use super::{connect::Stream, proxy::Forward};
use body::Body;
pub(crate) use head::Head;

/// What goes out in one piece with its head; a longer body follows it uncopied.
const ONE_PIECE: usize = 16 << 10;

/// How much is read at once, at first and at most.
const READ: (usize, usize) = (4 << 10, 256 << 10);

/// A request: its head in parts that most requests share, and its body.
pub(super) struct Request<'a> {
    pub(super) method: &'a Method,
    /// What a proxy must be told that forwards the request.
    pub(super) forward: Option<&'a Forward>,
    pub(super) uri: &'a Uri,
    pub(super) host: &'a HeaderValue,
    pub(super) headers: &'a HeaderMap,
    /// Headers of this request alone; they stand for those of the same name.
    pub(super) own: &'a [(HeaderName, HeaderValue)],
    pub(super) body: &'a Bytes,
}

/// A connection. Between a request and the end of its answer it is nobody else's.
pub(super) struct Line {
    stream: TokioIo<Stream>,
    /// What was read and is not used yet.
    read: BytesMut,
    /// How much is read next.
    room: usize,
    /// What is still to be sent: the head, then the rest of the body.
    head: BytesMut,
    rest: Bytes,
    /// Whether it was given to the system to the last byte.
    flushed: bool,
    body: Body,
    keeps: bool,
}

/// Why there is no answer, or no more of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// It ended before the head of the answer.
    #[error("the server closed the connection before it answered")]
    Unanswered,
    /// It ended within the body.
    #[error("the server closed the connection")]
    Unfinished,
    /// What came is not HTTP.
    #[error("the server does not speak HTTP: {0}")]
    NotHttp(String),
    /// The system says why.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A request that was not answered.
pub(super) struct Unanswered {
    pub(super) why: Broken,
    /// Whether not a byte of it was sent.
    pub(super) unsent: bool,
}

impl Line {
    /// A connection that nothing was sent on yet.
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream: TokioIo::new(stream),
            read: BytesMut::new(),
            room: READ.0,
            head: BytesMut::new(),
            rest: Bytes::new(),
            flushed: true,
            body: Body::Ended,
            keeps: true,
        }
    }

    /// Sends a request and returns the head of its answer.
    pub(super) async fn send(&mut self, request: &Request<'_>) -> Result<Head, Unanswered> {
        self.begin(request);
        let whole = self.unsent();
        let answered = poll_fn(|cx| {
            // A server may refuse a request that it has not read to its end, and not read on.
            let sent = self.poll_send(cx);
            match (self.poll_head(cx), sent) {
                (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error.into())),
                (head, _) => head,
            }
        })
        .await;
        answered.map_err(|why| Unanswered { why, unsent: self.unsent() == whole })
    }

    /// The next piece of the body; none at its end.
    pub(super) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        if !self.flushed {
            // What becomes of the request is told by its answer.
            let _ = self.poll_send(cx);
        }
        loop {
            match self.body.next(&mut self.read) {
                Err(broken) => return Poll::Ready(Some(Err(broken))),
                Ok(body::Next::Piece(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(body::Next::End) => return Poll::Ready(None),
                Ok(body::Next::Read) => {}
            }
            let read = ready!(self.poll_read(cx));
            match read {
                Ok(0) => match self.body.closed() {
                    true => return Poll::Ready(None),
                    false => return Poll::Ready(Some(Err(Broken::Unfinished))),
                },
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }

    /// Whether the answer was read to its end.
    pub(super) fn is_ended(&self) -> bool {
        self.body == Body::Ended
    }

    /// How many bytes of the body are announced.
    pub(super) fn announced(&self) -> u64 {
        self.body.announced()
    }

    /// Whether another request may follow.
    pub(super) fn is_reusable(&self) -> bool {
        self.keeps && self.flushed && self.is_ended() && self.read.is_empty()
    }

    /// Lets go of what only a large answer needed.
    pub(super) fn rest(&mut self) {
        self.room = READ.0;
        if self.read.capacity() > 4 * READ.0 {
            self.read = BytesMut::new();
        }
        if self.head.capacity() > ONE_PIECE {
            self.head = BytesMut::new();
        }
    }

    /// Whether the next request can be sent now: the server has neither closed the connection nor said anything.
    pub(super) fn is_free(&mut self) -> bool {
        // Nobody waits for this.
        self.poll_read(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    fn begin(&mut self, request: &Request<'_>) {
        let Request { method, forward, uri, host, headers, own, body } = request;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let out = &mut self.head;
        out.clear();
        let origin = forward.map_or("", |forward| &forward.origin);
        [method.as_str(), " ", origin, target, " HTTP/1.1\r\n"]
            .iter()
            .for_each(|part| out.extend_from_slice(part.as_bytes()));
        if !headers.contains_key(header::HOST) {
            write_header(out, &header::HOST, host.as_bytes());
        }
        if let Some(auth) = forward.and_then(|forward| forward.auth.as_ref()) {
            write_header(out, &header::PROXY_AUTHORIZATION, auth.as_bytes());
        }
        let is_own = |name: &HeaderName| own.iter().any(|(own, _)| own == name);
        for (name, value) in headers.iter().filter(|(name, _)| !is_own(name)) {
            write_header(out, name, value.as_bytes());
        }
        own.iter().for_each(|(name, value)| write_header(out, name, value.as_bytes()));
        if !body.is_empty() || *method == Method::POST {
            let length = HeaderValue::from(body.len());
            write_header(out, &header::CONTENT_LENGTH, length.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        self.rest = match body.len() <= ONE_PIECE {
            true => {
                out.extend_from_slice(body);
                Bytes::new()
            }
            false => (*body).clone(),
        };
        self.flushed = false;
        self.body = Body::Ended;
    }

    fn unsent(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unsent() > 0 {
            let piece = if self.head.is_empty() { &self.rest[..] } else { &self.head[..] };
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, piece))?;
            match self.head.is_empty() {
                _ if sent == 0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                true => self.rest.advance(sent),
                false => self.head.advance(sent),
            }
        }
        if !self.flushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head, Broken>> {
        loop {
            if let Some(head) = head::parse(&mut self.read)? {
                (self.body, self.keeps) = (head.body, head.keeps);
                return Poll::Ready(Ok(head.head));
            }
            let silent = self.read.is_empty();
            match ready!(self.poll_read(cx))? {
                0 if silent => return Poll::Ready(Err(Broken::Unanswered)),
                0 => return Poll::Ready(Err(Broken::NotHttp("its answer has no end".to_owned()))),
                _ => {}
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.read.capacity() - self.read.len() < READ.0 / 4 {
            self.read.reserve(self.room);
        }
        let room = self.read.capacity() - self.read.len();
        let read = ready!(poll_read_buf(Pin::new(&mut self.stream), cx, &mut self.read))?;
        if read == room {
            self.room = (2 * self.room).min(READ.1);
        }
        Poll::Ready(Ok(read))
    }
}

fn write_header(out: &mut BytesMut, name: &HeaderName, value: &[u8]) {
    out.reserve(name.as_str().len() + value.len() + 4);
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
