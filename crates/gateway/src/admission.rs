//! Lets requests in: everything but health passes here first.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body_util::Limited;
use hyper::body::{Frame, SizeHint};

use crate::{access::Share, gateway::Parts};

/// Asks who it is, bounds the body, and holds the caller's share until the answer has been sent.
pub(crate) async fn admit(
    State(parts): State<Arc<Parts>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let admitted = match parts.access.admit(&head) {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal.into_response(),
    };
    head.extensions.insert(admitted.caller);
    let most = usize::try_from(parts.config.max_body.0).unwrap_or(usize::MAX);
    let body = Body::new(Limited::new(body, most));
    let response = next.run(Request::from_parts(head, body)).await;
    held(response, admitted.share)
}

/// As [`admit`], for the MCP server, which bounds bodies by itself.
pub(crate) async fn mcp(parts: &Parts, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let admitted = match parts.access.admit(&head) {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal.into_response(),
    };
    let request = Request::from_parts(head, body);
    let response = parts.mcp.handle(request, admitted.caller.mcp()).await;
    held(response.map(Body::new), admitted.share)
}

/// The response, which holds the caller's share until it has been sent.
fn held(response: Response, share: Share) -> Response {
    match share.is_counted() {
        true => response.map(|body| Body::new(Held { body, _share: share })),
        false => response,
    }
}

/// A body that holds its caller's share until it is sent, or nobody wants it any more.
struct Held {
    body: Body,
    _share: Share,
}

impl hyper::body::Body for Held {
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
