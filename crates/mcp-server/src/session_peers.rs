//! The interface between gateways behind the same load balancer. Calls that wait for input are in `suspended_calls.rs`.

use std::time::Duration;

use bytes::Bytes;
use switchboard_toolcall::{BoxError, BoxFuture};

use super::{Server, ServerInner, session::Session};
use switchboard_mcp_wire::{self as wire, IncomingMessage, Outgoing};

/// The other gateways, which may adopt sessions of this one. Sessions are identified by short names, which grant no access.
pub trait SessionPeers: Send + Sync {
    /// Records for all gateways that the session has ended, for as long as any could adopt it, and notifies every
    /// other one ([`Server::session_ended`]).
    ///
    /// # Errors
    /// The end of the session cannot be recorded.
    fn end<'a>(&'a self, session: &'a str, keep: Duration) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns whether the session is recorded as ended.
    ///
    /// # Errors
    /// The record cannot be read.
    fn has_ended<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, BoxError>>;

    /// Sends a message of the session to every other gateway ([`Server::deliver`]). It does no harm if this gateway receives it
    /// too.
    ///
    /// # Errors
    /// The message cannot be sent.
    fn broadcast<'a>(
        &'a self,
        session: &'a str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Sends a request about a suspended call to the gateway of this name ([`Server::name`], [`Server::resume`]), and returns
    /// its reply. That may take as long as the call does.
    ///
    /// # Errors
    /// The gateway is gone.
    fn request<'a>(
        &'a self,
        gateway: &'a str,
        request: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, BoxError>>;
}

/// The notification that goes to the client's stream, whichever gateway that is open at.
const FOR_STREAMS: &str = "notifications/resources/updated";

impl Server {
    /// Delivers a message that another gateway had no recipient for; has no effect if this one has none either.
    pub fn deliver(&self, session: &str, message: &[u8]) {
        let Some(session) = self.inner.sessions.named(session) else { return };
        match wire::parse(message) {
            Ok(IncomingMessage::Notification { method, params }) if method == FOR_STREAMS => {
                session.outbox.send(&Outgoing::notification(&method, params.as_deref()));
            }
            Ok(message) => _ = session.take(message),
            Err(_) => tracing::debug!("a peer sent an invalid message"),
        }
    }

    /// Ends a session that another gateway has ended.
    pub fn session_ended(&self, session: &str) {
        self.inner.ended_sessions.note(session.into());
        if let Some(session) = self.inner.sessions.named(session) {
            self.inner.end(&session);
        }
    }
}

impl ServerInner {
    /// Handles a message of the client; one without a recipient here is sent to the other gateways.
    pub(crate) async fn take<P>(&self, session: &Session, message: IncomingMessage<P>) {
        let Some(message) = session.take(message) else { return };
        let message = match &message {
            IncomingMessage::Response { id: Some(id), outcome } => {
                let id = serde_json::value::to_raw_value(id);
                id.ok().map(|id| Outgoing::response(&id, outcome).to_bytes())
            }
            IncomingMessage::Notification { method, params } => {
                Some(Outgoing::notification(method, params.as_deref()).to_bytes())
            }
            _ => None,
        };
        if let Some(message) = message {
            self.broadcast(session, message.into()).await;
        }
    }

    /// Sends a message to the other gateways, if there are any.
    pub(crate) async fn broadcast(&self, session: &Session, message: Bytes) {
        let peers = self.peers.as_ref().filter(|_| session.is_portable());
        let Some(peers) = peers else {
            return tracing::debug!("a message of the client has no recipient");
        };
        if let Err(error) = peers.broadcast(&session.name, message).await {
            tracing::warn!(error, "a client's message cannot be passed on to other gateways");
        }
    }
}
