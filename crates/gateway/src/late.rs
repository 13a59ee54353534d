//! Bodies that do not come: a client that sends a byte at a time must not hold its place for ever.

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

/// Whether a body came too late.
#[derive(Clone, Default)]
pub(crate) struct Late(Arc<AtomicBool>);

impl Late {
    pub(crate) fn is_late(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body that must have come within a time.
pub(crate) struct Timely<B> {
    body: B,
    limit: Duration,
    /// Set when there is first something to wait for; most bodies come with their heads.
    end: Option<Pin<Box<Sleep>>>,
    late: Late,
}

impl<B> Timely<B> {
    pub(crate) fn new(body: B, limit: Duration) -> (Self, Late) {
        let late = Late::default();
        (Self { body, limit, end: None, late: late.clone() }, late)
    }
}

impl<B> Body for Timely<B>
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
        self.late.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err("the body did not come in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
