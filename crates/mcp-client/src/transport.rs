//! The seam between a session and the ways to reach a server.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use switchboard_mcp_wire::{IncomingMessage, Outgoing, RpcError};
use switchboard_toolcall::BoxFuture;

/// One way to reach one server. Implemented for stdio, streamable HTTP and the old HTTP+SSE.
pub trait Transport: Send + Sync {
    /// Sends a request and returns its result.
    ///
    /// # Cancel safety
    /// Dropping the future takes the request back: the server is told in the way of the transport and era
    /// (`notifications/cancelled`, or the closed stream), without anybody waiting for that, and a late
    /// answer is discarded.
    fn request<'a>(
        &'a self,
        request: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>>;

    /// Sends a notification.
    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Answers a request of the server's, known by its `id`.
    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Resolves when the connection is lost, with the reason; never, where there is no connection to lose.
    fn lost(&self) -> BoxFuture<'_, String>;

    /// Ends the connection in an orderly way; returns when nothing of it is left.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Whether the server has opened a session for us that others could have of their own.
    fn has_session(&self) -> bool {
        false
    }

    /// Whether there never was a server to speak to, because its program could not be started.
    fn never_started(&self) -> bool {
        false
    }

    /// The last lines that the server wrote to its stderr, where it has one.
    fn stderr_tail(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A request of ours.
#[derive(Clone, Debug)]
pub struct TransportRequest<'a> {
    /// Our id, unique within the session.
    pub id: u64,
    /// The method.
    pub method: &'a str,
    /// The whole message as JSON, as it is to be sent.
    pub message: Bytes,
    /// What HTTP says in headers too (2026-07-28: `Mcp-Name`, `Mcp-Param-*`; always: the trace); values not yet encoded.
    pub headers: &'a [(String, String)],
    /// Whether taking it back is told to the server: not so for `initialize`.
    pub cancellable: bool,
}

impl<'a> TransportRequest<'a> {
    /// A request with these parameters, as JSON, and without headers.
    pub fn new(id: u64, method: &'a str, params: Option<&str>) -> Self {
        let message = Outgoing::request(id, method, params).to_bytes().into();
        Self { id, method, message, headers: &[], cancellable: method != "initialize" }
    }
}

/// What a transport hands to its session: everything that is not the answer to a request.
pub trait Inbox: Send + Sync {
    /// Takes a notification or a request of the server's. Called in order; must not block.
    fn take(&self, message: IncomingMessage);

    /// As [`take`](Self::take), for what came on the stream of one of our requests.
    fn take_during(&self, message: IncomingMessage, request: u64) {
        _ = request;
        self.take(message);
    }
}

/// An inbox that several parts share.
pub type SharedInbox = Arc<dyn Inbox>;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server answered with an error.
    #[error("{0}")]
    Rpc(RpcError),
    /// The connection is gone; what the server made of the request is not known.
    #[error("{0}")]
    Lost(String),
    /// The HTTP session is gone: the server answered 404 to its id. The request was not handled.
    #[error("the session has expired")]
    SessionExpired,
    /// HTTP said no.
    #[error("HTTP status {status}{}", if body.is_empty() { String::new() } else { format!(": {body}") })]
    Http {
        /// The status.
        status: u16,
        /// The start of the answer's text.
        body: String,
        /// The JSON-RPC error in it, where there is one.
        error: Option<RpcError>,
    },
    /// The answer breaks the protocol.
    #[error("{0}")]
    Protocol(String),
}
