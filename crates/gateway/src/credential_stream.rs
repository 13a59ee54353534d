//! Event streams that end when their token does (SPEC GW-5).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::header;
use hyper::body::{Frame, SizeHint};
use switchboard_access::Credential;
use switchboard_toolcall::BoxFuture;

use crate::gateway::Parts;

/// Returns the response; if it is an event stream, it ends within 5 s after the request's credential does.
pub(crate) fn bound(response: Response, parts: &Arc<Parts>, credential: Credential) -> Response {
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

impl hyper::body::Body for CredentialBody {
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
