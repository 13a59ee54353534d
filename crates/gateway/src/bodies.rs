//! Bodies with bounds: a request's ends with its timeout, a response's event stream with its token (SPEC GW-5), and a
//! response holds its caller's quota until it is sent.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{BoxError, body::Body, response::Response};
use bytes::Bytes;
use http::header;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use switchboard_access::{Credential, QuotaPermit};
use switchboard_toolcall::BoxFuture;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::gateway::Parts;

/// Whether a body has timed out.
#[derive(Clone, Default)]
pub(crate) struct BodyTimeout(Arc<AtomicBool>);

impl BodyTimeout {
    pub(crate) fn is_elapsed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body with a timeout: a client that sends a byte at a time must not hold its connection forever.
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

impl<B> HttpBody for TimedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
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

/// Returns the response; if it is an event stream, it ends within 5 s after the request's credential does.
pub(crate) fn end_with_credential(
    response: Response,
    parts: &Arc<Parts>,
    credential: Credential,
) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream || matches!(credential, Credential::NotNeeded) {
        return response;
    }
    let parts = parts.clone();
    let ended = Box::pin(async move { parts.access.ended(&credential).await });
    response.map(|body| Body::new(CredentialBody { body, ended }))
}

/// A body that ends early when `ended` completes.
struct CredentialBody {
    body: Body,
    ended: BoxFuture<'static, ()>,
}

impl HttpBody for CredentialBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().poll(cx).is_ready() {
            // Dropping the body cancels the calls that run for it.
            self.body = Body::empty();
            self.ended = Box::pin(std::future::pending());
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// A body that holds its caller's permit until it is sent, or the client is gone.
pub(crate) struct QuotaBody {
    body: Body,
    _permit: QuotaPermit,
}

impl QuotaBody {
    pub(crate) fn new(body: Body, permit: QuotaPermit) -> Self {
        Self { body, _permit: permit }
    }
}

impl HttpBody for QuotaBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
