//! The body of a response: one JSON text, or a stream of events.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use switchboard_toolcall::BoxFuture;
use tokio::time::{Instant, Sleep, sleep};

use crate::{outbox::OutboxReader, session::StreamGuard};

/// The body of a response.
pub struct McpBody(BodyContent);

enum BodyContent {
    Whole(Option<Bytes>),
    EventStream(Box<EventStream>),
}

/// A stream of events, one per message.
pub(super) struct EventStream {
    pub(super) messages: OutboxReader,
    /// The number that the client resumes the stream by; `None` if it cannot.
    pub(super) stream: Option<u64>,
    /// Produces the last message; dropped with the stream.
    pub(super) work: Option<BoxFuture<'static, Option<Bytes>>>,
    /// The bytes that are sent first.
    pub(super) opening: Bytes,
    pub(super) keep_alive: KeepAlive,
    /// Keeps the session from counting as idle.
    pub(super) _attached: Option<StreamGuard>,
}

/// Sends a comment when the stream has been silent for the interval.
pub(super) struct KeepAlive {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

impl KeepAlive {
    pub(super) fn every(limit: Duration) -> Self {
        Self { limit, timer: Box::pin(sleep(limit)) }
    }

    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.timer.as_mut().poll(cx);
        if due.is_ready() {
            self.reset();
        }
        due
    }

    fn reset(&mut self) {
        self.timer.as_mut().reset(Instant::now() + self.limit);
    }
}

impl McpBody {
    /// Creates an empty body.
    pub(super) fn empty() -> Self {
        Self(BodyContent::Whole(None))
    }

    /// Creates a body of one text.
    pub(super) fn whole(text: impl Into<Bytes>) -> Self {
        Self(BodyContent::Whole(Some(text.into())))
    }

    /// Creates a body that is a stream.
    pub(super) fn events(events: EventStream) -> Self {
        Self(BodyContent::EventStream(Box::new(events)))
    }
}

impl http_body::Body for McpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.0 {
            BodyContent::Whole(text) => Poll::Ready(text.take()),
            BodyContent::EventStream(events) => events.poll_next(cx),
        };
        next.map(|next| next.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyContent::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyContent::Whole(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            BodyContent::EventStream(_) => SizeHint::default(),
        }
    }
}

impl EventStream {
    /// Returns all messages that are ready, in one piece.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.opening.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut self.opening)));
        }
        loop {
            let mut piece = BytesMut::new();
            let ended = loop {
                match self.messages.poll_next(cx) {
                    Poll::Ready(Some((number, message))) => {
                        write_event(&mut piece, self.stream, number, &message);
                    }
                    Poll::Ready(None) => break true,
                    Poll::Pending => break false,
                }
            };
            if !piece.is_empty() {
                self.keep_alive.reset();
                return Poll::Ready(Some(piece.freeze()));
            }
            if ended {
                return Poll::Ready(None);
            }
            let done = self.work.as_mut().map(|work| work.as_mut().poll(cx));
            let Some(Poll::Ready(last)) = done else {
                return self.keep_alive.poll_due(cx).map(|()| Some(Bytes::from_static(b":\n\n")));
            };
            self.work = None;
            let outbox = self.messages.outbox();
            last.into_iter().for_each(|last| outbox.push(last));
            outbox.end();
        }
    }
}

fn write_event(piece: &mut BytesMut, stream: Option<u64>, number: u64, message: &[u8]) {
    piece.reserve(message.len() + 48);
    piece.put_slice(b"event: message\n");
    if let Some(stream) = stream {
        // The id counts the messages up to this one: the next to read on resumption.
        piece.put_slice(format!("id: {stream}-{}\n", number + 1).as_bytes());
    }
    piece.put_slice(b"data: ");
    piece.put_slice(message);
    piece.put_slice(b"\n\n");
}
