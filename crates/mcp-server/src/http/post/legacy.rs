//! Messages of a session: a request continues when the client hangs up, and its stream can be resumed.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::value::RawValue;
use switchboard_toolcall::BoxFuture;
use tokio::{runtime::Handle, time::sleep};

use crate::{
    McpCaller, ServerInner,
    exchange::{Exchange, ExchangeClient},
    http::{
        McpBody, SESSION,
        body::{EventStream, KeepAlive},
        headers,
        response::{self, ErrorResponse},
        streams::stream_response,
    },
    methods::ClientTransport,
    outbox::Outbox,
    rpc_request::RpcRequest,
    session::Session,
};
use switchboard_mcp_wire::{IncomingMessage, Outgoing, RequestParams, RpcError, eras};

/// Opens a session.
pub(super) fn initialize(
    inner: &Arc<ServerInner>,
    rpc: RpcRequest,
    caller: &McpCaller,
) -> Response<McpBody> {
    let outbox = Outbox::keeping(inner.config.kept_events);
    match inner.initialize(rpc.params, caller, outbox, ClientTransport::Http) {
        Ok((session, result)) => {
            let outcome = Ok(result);
            let body = Outgoing::response(&rpc.id, &outcome).to_bytes();
            let mut response = response::json(StatusCode::OK, body);
            if let Ok(id) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(SESSION, id);
            }
            response
        }
        Err(error) => {
            let status = match error.code {
                RpcError::INTERNAL => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::BAD_REQUEST,
            };
            response::error(status, Some(&rpc.id), error)
        }
    }
}

/// Answers a request: with JSON if nothing comes before the response, else on a stream.
pub(super) async fn answer(
    inner: &Arc<ServerInner>,
    head: &HeaderMap,
    rpc: RpcRequest,
    caller: &McpCaller,
) -> Response<McpBody> {
    let session = match session(inner, head, Some(&rpc.id), caller).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let accepts = headers::accepts(head);
    let streams = accepts.events;
    // A client that accepts no stream as a response may have the session's stream open.
    let outbox = match streams {
        true => Outbox::keeping(inner.config.kept_events),
        false => session.outbox.clone(),
    };
    let work = work(inner, &session, rpc, caller, outbox.clone());
    let mut work = DetachOnDrop::new(Box::pin(work));
    let response = tokio::select! {
        biased;
        response = &mut work => Some(response),
        () = poll_fn(|cx| outbox.poll_any(cx)), if streams => None,
        () = sleep(inner.config.stream_after.0), if streams => None,
    };
    let stream = match response {
        Some(response) if !streams || (accepts.json && outbox.is_empty()) => {
            return match response {
                Some(response) => response::json(StatusCode::OK, response.into()),
                // A cancelled request gets no response.
                None => response::empty(StatusCode::ACCEPTED),
            };
        }
        Some(response) => {
            finish(&outbox, response);
            session.keep_stream(outbox.clone())
        }
        None => {
            let stream = session.keep_stream(outbox.clone());
            let outbox = outbox.clone();
            tokio::spawn(async move { finish(&outbox, work.await) });
            stream
        }
    };
    let messages = outbox.unread();
    // A client of 2025-11-25 can resume even before the first event.
    let opening = match session.version {
        eras::LATEST_LEGACY => Bytes::from(format!("id: {stream}-0\ndata: \n\n")),
        _ => Bytes::new(),
    };
    stream_response(EventStream {
        messages,
        stream: Some(stream),
        work: None,
        opening,
        keep_alive: KeepAlive::every(inner.config.keep_alive.0),
        _attached: Some(session.attach()),
    })
}

/// Ends a stream with the response.
fn finish(outbox: &Outbox, response: Option<Bytes>) {
    response.into_iter().for_each(|response| outbox.push(response));
    outbox.end();
}

/// Makes the response to a request; `None` if it is cancelled.
pub(super) fn work(
    inner: &Arc<ServerInner>,
    session: &Arc<Session>,
    mut rpc: RpcRequest,
    caller: &McpCaller,
    outbox: Arc<Outbox>,
) -> impl Future<Output = Option<Bytes>> + Send + 'static {
    let id = rpc.id.clone();
    let guard = session.begin(&id);
    let (channel, notes) = rpc.channel(outbox);
    let (client, trace) = (ExchangeClient::Legacy(session.clone()), rpc.trace.take());
    let exchange =
        Exchange::new(caller.clone(), client, guard.cancel.clone(), channel, notes, trace);
    let inner = inner.clone();
    async move {
        let outcome = inner.answer(exchange, rpc).await;
        let response = Outgoing::response(&id, &outcome).to_bytes();
        (!guard.cancel.is_cancelled()).then(|| response.into())
    }
}

/// Handles a notification, or a response to a request of ours.
pub(super) async fn take(
    inner: &Arc<ServerInner>,
    head: &HeaderMap,
    message: IncomingMessage<RequestParams>,
    caller: &McpCaller,
) -> Response<McpBody> {
    match session(inner, head, None, caller).await {
        Ok(session) => {
            inner.take(&session, message).await;
            response::empty(StatusCode::ACCEPTED)
        }
        Err(refused) => *refused,
    }
}

/// Returns the session that a message belongs to.
async fn session(
    inner: &ServerInner,
    head: &HeaderMap,
    id: Option<&RawValue>,
    caller: &McpCaller,
) -> Result<Arc<Session>, ErrorResponse> {
    let wrong = |status, text: String| {
        Box::new(response::error(status, id, RpcError::new(RpcError::INVALID_REQUEST, text)))
    };
    let Some(name) = headers::text(head, SESSION) else {
        let text = "header `Mcp-Session-Id` is missing: a session begins with `initialize`";
        return Err(wrong(StatusCode::BAD_REQUEST, text.to_owned()));
    };
    let session = inner.session(name, caller).await;
    let session = session.map_err(|none| Box::new(response::no_session(&none, id)))?;
    match headers::text(head, headers::VERSION) {
        Some(version) if !eras::LEGACY.contains(&version) => {
            let text = format!("protocol version {version:?} is not spoken in this session");
            Err(wrong(StatusCode::BAD_REQUEST, text))
        }
        _ => Ok(session),
    }
}

/// A future that is spawned as a task if it is dropped unfinished; most complete before that.
struct DetachOnDrop<T: Send + 'static>(Option<BoxFuture<'static, T>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    fn new(work: BoxFuture<'static, T>) -> Self {
        Self(Some(work))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.0 else {
            return Poll::Pending;
        };
        let done = work.as_mut().poll(cx);
        if done.is_ready() {
            self.0 = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}
