//! One HTTP/1.1 connection to a server, on hyper.
//!
//! No task stands beside it: whoever waits for an answer polls it, so that a request costs no hop to another task, and
//! dropping an answer closes its connection there and then.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};

use super::connect::Stream;

/// A request, and its body.
pub(super) type OutgoingRequest = Request<Full<Bytes>>;

/// A connection. Between a request and the end of its answer it is nobody else's.
pub(super) struct Connection {
    requests: http1::SendRequest<Full<Bytes>>,
    /// Reads and writes; `None` once the connection has ended.
    io: Option<http1::Connection<Stream, Full<Bytes>>>,
}

/// A request that was not answered.
pub(super) struct Unanswered {
    pub(super) error: hyper::Error,
    /// The request, if nothing of it was sent.
    pub(super) unsent: Option<Box<OutgoingRequest>>,
}

impl Connection {
    /// Creates a connection on which nothing was sent yet.
    pub(super) async fn new(stream: Stream) -> hyper::Result<Self> {
        let (requests, io) = http1::handshake(stream).await?;
        Ok(Self { requests, io: Some(io) })
    }

    /// Sends a request and returns the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: OutgoingRequest,
    ) -> Result<Response<Incoming>, Unanswered> {
        let mut response = pin!(self.requests.try_send_request(request));
        let io = &mut self.io;
        let answered = poll_fn(|cx| {
            drive(io, cx);
            response.as_mut().poll(cx)
        });
        answered.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            Unanswered { error: error.into_error(), unsent }
        })
    }

    /// Returns the next piece of the body of its answer, `None` at the end.
    pub(super) fn poll_piece(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Bytes>>> {
        // What is not there yet is read now, and then taken.
        match poll_data(body, cx) {
            Poll::Pending => {
                drive(&mut self.io, cx);
                poll_data(body, cx)
            }
            ready => ready,
        }
    }

    /// Whether the next request can be sent now: the last answer has ended, and the server has neither closed the
    /// connection nor said anything since.
    pub(super) fn is_free(&mut self) -> bool {
        drive(&mut self.io, &mut Context::from_waker(Waker::noop()));
        self.io.is_some() && self.requests.is_ready()
    }
}

fn drive(io: &mut Option<http1::Connection<Stream, Full<Bytes>>>, cx: &mut Context<'_>) {
    // What went wrong is also told to the request.
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
                // Trailers matter to nobody here.
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
        }
    }
}
