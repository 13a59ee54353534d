//! The other gateways behind the same balancer, and what passes between them. Calls that wait for input are in `suspended_calls.rs`.

use std::time::Duration;

use bytes::Bytes;
use switchboard_toolcall::{BoxError, BoxFuture};

use super::{Inner, Server, session::Session};
use switchboard_mcp_wire::{self as wire, IncomingMessage, Outgoing};

/// The other gateways, to whom sessions may wander. Sessions go by short names here, which open nothing.
pub trait SessionPeers: Send + Sync {
    /// Notes for all gateways that the session has ended, for so long as it could be taken in anywhere, and has every
    /// other one told of it ([`Server::session_ended`]).
    ///
    /// # Errors
    /// It cannot be noted.
    fn end<'a>(&'a self, session: &'a str, keep: Duration) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Whether it was noted that the session has ended.
    ///
    /// # Errors
    /// Nobody can be asked.
    fn has_ended<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, BoxError>>;

    /// Has every other gateway take in a message of the session's ([`Server::deliver`]); it does no harm if it comes back
    /// here too.
    ///
    /// # Errors
    /// Nobody can be told.
    fn broadcast<'a>(
        &'a self,
        session: &'a str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Has the gateway of this name ([`Server::name`]) go on with a call that it holds ([`Server::resume`]), and returns what
    /// it says. That may take as long as the call does.
    ///
    /// # Errors
    /// The gateway is not there any more.
    fn request<'a>(
        &'a self,
        gateway: &'a str,
        request: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, BoxError>>;
}

/// What a server tells a client's stream, wherever that is open.
const FOR_STREAMS: &str = "notifications/resources/updated";

impl Server {
    /// Takes in a message that another gateway could not place; without effect where nobody waits for it here either.
    pub fn deliver(&self, session: &str, message: &[u8]) {
        let Some(session) = self.inner.sessions.named(session) else { return };
        match wire::parse(message) {
            Ok(IncomingMessage::Notification { method, params }) if method == FOR_STREAMS => {
                session.outbox.send(&Outgoing::notification(&method, params.as_deref()));
            }
            Ok(message) => _ = session.take(message),
            Err(_) => tracing::debug!("a sibling passed on what is no message"),
        }
    }

    /// Another gateway has ended the session.
    pub fn session_ended(&self, session: &str) {
        self.inner.ended_sessions.note(session.into());
        if let Some(session) = self.inner.sessions.named(session) {
            self.inner.end(&session);
        }
    }
}

impl Inner {
    /// Takes what a client says; what nobody waits for here may be waited for elsewhere.
    pub(crate) async fn take(&self, session: &Session, message: IncomingMessage) {
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

    /// Tells the other gateways, where there are any.
    pub(crate) async fn broadcast(&self, session: &Session, message: Bytes) {
        let peers = self.peers.as_ref().filter(|_| session.is_portable());
        let Some(peers) = peers else {
            return tracing::debug!("a message of the client's that nobody waits for");
        };
        if let Err(error) = peers.broadcast(&session.name, message).await {
            tracing::warn!(error, "a client's message cannot be passed on to other gateways");
        }
    }
}
