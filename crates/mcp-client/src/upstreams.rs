//! Implements what the MCP server needs of upstream servers.

use std::sync::{Arc, atomic::Ordering};

use serde_json::{Map, Value};
use switchboard_mcp_wire::{Era, List, ListResult, ServerChange, Upstream, Upstreams};
use switchboard_toolcall::{BoxError, BoxFuture, LogLevel};
use tokio::sync::broadcast;

use super::{
    server::{Server, ServerState},
    servers::Servers,
    session::OutgoingRequest,
};

impl Upstreams for Servers {
    fn all(&self) -> Vec<Arc<dyn Upstream>> {
        self.all().into_iter().map(|server| server as Arc<dyn Upstream>).collect()
    }

    fn added(&self) -> broadcast::Receiver<Arc<dyn Upstream>> {
        self.added.subscribe()
    }

    fn set_log_level(&self, level: LogLevel) {
        for server in self.all() {
            let ServerState::Ready(session) = server.state() else { continue };
            let logs = session.capabilities().get("logging").is_some();
            if logs && matches!(session.era(), Era::Legacy(_)) {
                let params = Map::from_iter([("level".to_owned(), Value::from(level.name()))]);
                // Runs in the background.
                tokio::spawn(async move {
                    session.ask(OutgoingRequest::new("logging/setLevel", params)).await
                });
            }
        }
    }

    fn release(&self, session: &str) {
        for server in self.all() {
            server.release(session);
        }
    }
}

impl Upstream for Server {
    fn name(&self) -> &Arc<str> {
        self.name()
    }

    fn prefix(&self) -> Option<&str> {
        self.config().prefix.as_deref()
    }

    /// What a server with `auth = "user"` has is each caller's own, so that it lists nothing.
    fn has(&self, list: List) -> bool {
        match &*self.state.borrow() {
            ServerState::Ready(session) => session.capabilities().get(list.capability()).is_some(),
            _ => false,
        }
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<ListResult, BoxError>> {
        let state = self.state();
        Box::pin(async move {
            match state {
                ServerState::Ready(session) => Ok(session.list(list).await?),
                state => Err(format!("the server is {}", state.name()).into()),
            }
        })
    }

    fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    fn changes(&self) -> broadcast::Receiver<ServerChange> {
        self.changes.subscribe()
    }

    fn unsubscribe(&self, uri: &str) {
        self.unwatch(uri);
    }
}
