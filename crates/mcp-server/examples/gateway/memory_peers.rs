//! Gateways of one process that know of each other, as those of a cluster do over a network.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use switchboard_mcp_server::{Server, SessionPeers};
use switchboard_runtime::toolcall::{BoxError, BoxFuture};

/// The gateways, and the sessions that have ended on all of them.
#[derive(Clone, Default)]
pub(crate) struct MemoryPeers(Arc<Mutex<MemoryPeersState>>);

#[derive(Default)]
struct MemoryPeersState {
    servers: Vec<Server>,
    ended: HashSet<String>,
}

impl MemoryPeers {
    /// Adds a gateway.
    pub(crate) fn add(&self, server: &Server) {
        self.lock().servers.push(server.clone());
    }

    fn lock(&self) -> MutexGuard<'_, MemoryPeersState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `tell` with all gateways, the sender included.
    fn tell(&self, tell: impl Fn(&Server)) -> BoxFuture<'_, Result<(), BoxError>> {
        let servers = self.lock().servers.clone();
        servers.iter().for_each(tell);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl SessionPeers for MemoryPeers {
    fn end<'a>(&'a self, session: &'a str, _: Duration) -> BoxFuture<'a, Result<(), BoxError>> {
        self.lock().ended.insert(session.to_owned());
        self.tell(|server| server.session_ended(session))
    }

    fn has_ended<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, BoxError>> {
        let ended = self.lock().ended.contains(session);
        Box::pin(std::future::ready(Ok(ended)))
    }

    fn broadcast<'a>(
        &'a self,
        session: &'a str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        self.tell(|server| server.deliver(session, &message))
    }

    fn request<'a>(
        &'a self,
        gateway: &'a str,
        request: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, BoxError>> {
        let found = self.lock().servers.iter().find(|server| server.name() == gateway).cloned();
        Box::pin(async move {
            let server = found.ok_or("there is no such gateway")?;
            // As over a network: dropping the request does not stop the reply.
            Ok(tokio::spawn(async move { server.resume(&request).await }).await?)
        })
    }
}
