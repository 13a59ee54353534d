//! A timeout for request bodies: a client that sends a byte at a time must not hold its connection forever.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// Whether a body has timed out.
#[derive(Clone, Default)]
pub(crate) struct BodyTimeout(Arc<AtomicBool>);

impl BodyTimeout {
    pub(crate) fn is_elapsed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body with a timeout.
pub(crate) struct TimedBody<B> {
    body: B,
    limit: Duration,
    /// The timer; started when the body is first pending, because most bodies arrive with their heads.
    end: Option<Pin<Box<Sleep>>>,
    timeout: BodyTimeout,
}

impl<B> TimedBody<B> {
    pub(crate) fn new(body: B, limit: Duration) -> (Self, BodyTimeout) {
        let timeout = BodyTimeout::default();
        (Self { body, limit, end: None, timeout: timeout.clone() }, timeout)
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = self.limit;
        let end = self.end.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + limit)));
        std::task::ready!(end.as_mut().poll(cx));
        self.timeout.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err("the body did not come in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
