//! The stream of a session, streams that are taken up again, and the end of a session.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::{
    Body, SESSION,
    body::{Events, Quiet},
    headers,
    refusal::{self, Refused},
};
use crate::{
    server::{Caller, Inner, outbox::Reader, session::Session},
    wire::{RpcError, eras},
};

/// Opens the stream of a session, or goes on with one that broke off.
pub(super) fn get(inner: &Inner, head: &HeaderMap, caller: &Caller) -> Response<Body> {
    let session = match session(inner, head, caller) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    if !headers::accepts(head).events {
        return refusal::plain(StatusCode::NOT_ACCEPTABLE);
    }
    session.touch();
    let (stream, messages) = match headers::text(head, "last-event-id") {
        None => (0, session.outbox.unread()),
        Some(last) => match rest(&session, last) {
            Some(rest) => rest,
            None => {
                let text = "the stream of `Last-Event-ID` is no longer kept";
                let error = RpcError::new(RpcError::INVALID_REQUEST, text);
                return refusal::error(StatusCode::BAD_REQUEST, None, error);
            }
        },
    };
    stream_response(Events {
        messages,
        stream: Some(stream),
        work: None,
        opening: Bytes::from_static(b":\n\n"),
        quiet: Quiet::at_most(inner.config.keep_alive.0),
        _attached: Some(session.attach()),
    })
}

/// The stream that an event id is of, read on after that event.
fn rest(session: &Session, last: &str) -> Option<(u64, Reader)> {
    let (stream, number) = last.split_once('-')?;
    let (stream, number): (u64, u64) = (stream.parse().ok()?, number.parse().ok()?);
    Some((stream, session.stream(stream)?.reader(number)))
}

/// Ends a session.
pub(super) fn delete(inner: &Inner, head: &HeaderMap, caller: &Caller) -> Response<Body> {
    match session(inner, head, caller) {
        Ok(session) => {
            inner.end(&session);
            refusal::plain(StatusCode::NO_CONTENT)
        }
        Err(refused) => *refused,
    }
}

/// The session that a request without a body belongs to.
fn session(inner: &Inner, head: &HeaderMap, caller: &Caller) -> Result<Arc<Session>, Refused> {
    let Some(id) = headers::text(head, SESSION) else {
        // There is neither a stream nor an end of requests that stand alone.
        let modern = headers::text(head, headers::VERSION) == Some(eras::MODERN);
        if modern {
            let mut response = refusal::plain(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return Err(Box::new(response));
        }
        let error = RpcError::new(RpcError::INVALID_REQUEST, "header `Mcp-Session-Id` is missing");
        return Err(Box::new(refusal::error(StatusCode::BAD_REQUEST, None, error)));
    };
    inner.sessions.get(id, caller).ok_or_else(|| {
        let error = RpcError::new(RpcError::INVALID_REQUEST, "there is no such session");
        Box::new(refusal::error(StatusCode::NOT_FOUND, None, error))
    })
}

/// A response that is a stream of events.
pub(super) fn stream_response(events: Events) -> Response<Body> {
    let mut response = Response::new(Body::events(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // What stands between us and the client must not wait for more.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
