//! The interface between a session and its transport.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use switchboard_mcp_wire::{IncomingMessage, Outgoing, RpcError};
use switchboard_oauth::{NoToken, SignInNeeded};
use switchboard_sandbox::Sandbox;
use switchboard_toolcall::BoxFuture;

/// A transport to one server. Implemented for stdio, streamable HTTP and the old HTTP+SSE.
pub trait Transport: Send + Sync {
    /// Sends a request and returns its result.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request: in the background, the server gets what transport and era provide
    /// for it (`notifications/cancelled`, or a closed stream), and a late response is discarded.
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

    /// Responds to the server's request `id`.
    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Resolves with the reason when the connection is lost; never if the transport has no lasting connection.
    fn lost(&self) -> BoxFuture<'_, String>;

    /// Closes the connection in an orderly way; returns when it is closed and its process has ended.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Whether the server has opened a session for us, so that other clients could have their own.
    fn has_session(&self) -> bool {
        false
    }

    /// Whether the server's program could not be started.
    fn never_started(&self) -> bool {
        false
    }

    /// Returns the last lines of the server's stderr; empty unless it is a stdio server.
    fn stderr_tail(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what confines the server's program.
    fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        None
    }
}

/// A request to the server.
#[derive(Clone, Debug)]
pub struct TransportRequest<'a> {
    /// Our id, unique within the session.
    pub id: u64,
    /// The method.
    pub method: &'a str,
    /// The whole message as JSON, as it is to be sent.
    pub message: Bytes,
    /// Fields that HTTP sends as headers (2026-07-28: `Mcp-Name`, `Mcp-Param-*`; always: the trace); values not yet encoded.
    pub headers: &'a [(String, String)],
    /// Whether the server is told if it is cancelled; `initialize` must not be.
    pub cancellable: bool,
}

impl<'a> TransportRequest<'a> {
    /// Creates a request with these parameters, which are JSON, and without headers.
    pub fn new(id: u64, method: &'a str, params: Option<&str>) -> Self {
        let message = Outgoing::request(id, method, params).to_bytes().into();
        Self { id, method, message, headers: &[], cancellable: method != "initialize" }
    }
}

/// Receives what a transport reads, except for responses.
pub trait Inbox: Send + Sync {
    /// Handles a notification or a request of the server. Called in order.
    /// Must not block: runs on a serving thread, while messages are read.
    fn take(&self, message: IncomingMessage);

    /// Like [`take`](Self::take), for messages on the stream of the request with this id.
    fn take_during(&self, message: IncomingMessage, request: u64) {
        _ = request;
        self.take(message);
    }
}

/// A shared inbox.
pub type SharedInbox = Arc<dyn Inbox>;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server answered with an error.
    #[error("{0}")]
    Rpc(RpcError),
    /// The connection is lost; whether the server handled the request is unknown.
    #[error("{0}")]
    Lost(String),
    /// The HTTP session has expired: the server answered 404 to its id. The request was not handled.
    #[error("the session has expired")]
    SessionExpired,
    /// The server answered with an HTTP error status.
    #[error("HTTP status {status}{}", if body.is_empty() { String::new() } else { format!(": {body}") })]
    Http {
        /// The status.
        status: u16,
        /// The start of the response's text.
        body: String,
        /// The JSON-RPC error in it, if there is one.
        error: Option<RpcError>,
    },
    /// The server wants a person to sign in. The request was not handled.
    #[error("{0}")]
    SignIn(SignInNeeded),
    /// The token of the sign-in has ended and cannot be renewed for now. The request was not handled.
    #[error("its sign-in cannot be used now: {0}")]
    NoToken(String),
    /// The response violates the protocol.
    #[error("{0}")]
    Protocol(String),
}

impl From<NoToken> for Failure {
    fn from(why: NoToken) -> Self {
        match why {
            NoToken::SignIn(needed) => Self::SignIn(needed),
            NoToken::Unavailable(reason) => Self::NoToken(reason),
        }
    }
}
