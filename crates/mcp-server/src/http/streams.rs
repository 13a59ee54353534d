//! GET and DELETE: the stream of a session, resumed streams, and the end of a session.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::{
    McpBody, SESSION,
    body::{EventStream, KeepAlive},
    headers,
    response::{self, ErrorResponse},
};
use crate::{McpCaller, ServerInner, outbox::OutboxReader, session::Session};
use switchboard_mcp_wire::{RpcError, eras};

/// Opens the stream of a session, or resumes one.
pub(super) async fn get(
    inner: &ServerInner,
    head: &HeaderMap,
    caller: &McpCaller,
) -> Response<McpBody> {
    let session = match session(inner, head, caller).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    if !headers::accepts(head).events {
        return response::empty(StatusCode::NOT_ACCEPTABLE);
    }
    session.touch();
    let (stream, messages) = match headers::text(head, "last-event-id") {
        None => new_stream(&session),
        Some(last) => match rest(&session, last) {
            Some(rest) => rest,
            None if session.is_portable() => {
                tracing::debug!(last, "a stream that is not kept here starts over");
                new_stream(&session)
            }
            None => {
                let text = "the stream of `Last-Event-ID` is no longer kept";
                let error = RpcError::new(RpcError::INVALID_REQUEST, text);
                return response::error(StatusCode::BAD_REQUEST, None, error);
            }
        },
    };
    stream_response(EventStream {
        messages,
        stream: Some(stream),
        work: None,
        opening: Bytes::from_static(b":\n\n"),
        keep_alive: KeepAlive::every(inner.config.keep_alive.0),
        _attached: Some(session.attach()),
    })
}

/// Returns the session's own stream, from its first unread message.
fn new_stream(session: &Session) -> (u64, OutboxReader) {
    (session.own_stream(), session.outbox.unread())
}

/// Returns the stream of an event id, from the event after it.
fn rest(session: &Session, last: &str) -> Option<(u64, OutboxReader)> {
    let (stream, number) = last.split_once('-')?;
    let (stream, number): (u64, u64) = (stream.parse().ok()?, number.parse().ok()?);
    Some((stream, session.stream(stream)?.reader(number)))
}

/// Ends a session.
pub(super) async fn delete(
    inner: &ServerInner,
    head: &HeaderMap,
    caller: &McpCaller,
) -> Response<McpBody> {
    let session = match session(inner, head, caller).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    match inner.end_everywhere(&session).await {
        Ok(()) => response::empty(StatusCode::NO_CONTENT),
        Err(error) => {
            tracing::warn!(error, "a session cannot be ended on other gateways");
            let text = "the session cannot be ended on other gateways now; try again";
            let error = RpcError::new(RpcError::INTERNAL, text);
            response::error(StatusCode::SERVICE_UNAVAILABLE, None, error)
        }
    }
}

/// Returns the session of a request without a body.
async fn session(
    inner: &ServerInner,
    head: &HeaderMap,
    caller: &McpCaller,
) -> Result<Arc<Session>, ErrorResponse> {
    let Some(id) = headers::text(head, SESSION) else {
        // Stateless clients have no session stream and no session to end.
        let modern = headers::text(head, headers::VERSION) == Some(eras::MODERN);
        if modern {
            let mut response = response::empty(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return Err(Box::new(response));
        }
        let error = RpcError::new(RpcError::INVALID_REQUEST, "header `Mcp-Session-Id` is missing");
        return Err(Box::new(response::error(StatusCode::BAD_REQUEST, None, error)));
    };
    let session = inner.session(id, caller).await;
    session.map_err(|none| Box::new(response::no_session(&none, None)))
}

/// Makes a response that is a stream of events.
pub(super) fn stream_response(events: EventStream) -> Response<McpBody> {
    let mut response = Response::new(McpBody::events(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies must not buffer the stream.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
