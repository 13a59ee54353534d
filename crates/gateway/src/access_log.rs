//! The access log: one line for each request, when its response has been sent or the client is gone.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::request;
use hyper::body::{Frame, SizeHint};
use switchboard_access::Caller;
use tokio::time::Instant;

/// The access log line of a request, written when dropped, so that no request is missing.
pub(crate) struct AccessLogLine {
    method: http::Method,
    path: String,
    began: Instant,
    status: Option<u16>,
    caller: Option<Arc<str>>,
    bytes: u64,
}

impl AccessLogLine {
    pub(crate) fn begin(request: &request::Parts) -> Self {
        Self {
            method: request.method.clone(),
            // Not the query: some clients put secrets there.
            path: request.uri.path().to_owned(),
            began: Instant::now(),
            status: None,
            caller: None,
            bytes: 0,
        }
    }

    /// Attaches the line to the response: it is written when the body has been sent.
    pub(crate) fn follow(mut self, response: Response) -> Response {
        self.status = Some(response.status().as_u16());
        self.caller = response.extensions().get::<Caller>().and_then(|caller| caller.name.clone());
        response.map(|body| Body::new(CountedBody { body, line: self }))
    }
}

impl Drop for AccessLogLine {
    fn drop(&mut self) {
        tracing::info!(
            target: "switchboard::access",
            method = %self.method,
            path = self.path,
            // 499 if the client hung up before there was a response.
            status = self.status.unwrap_or(499),
            duration_ms = self.began.elapsed().as_secs_f64() * 1e3,
            caller = self.caller.as_deref().unwrap_or("-"),
            bytes = self.bytes,
        );
    }
}

/// A body whose bytes are counted as they are sent.
struct CountedBody {
    body: Body,
    line: AccessLogLine,
}

impl hyper::body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
