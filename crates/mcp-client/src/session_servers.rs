//! Further instances of a server, one for each client session that must not share it with others (SPEC GW-3).
//!
//! An HTTP server that opens sessions gets one session per client session; a child process is only copied if its settings
//! say `share = "session"`. A copy is a server like any other: connected when it is first needed, stopped when it has not
//! been needed for a while. It registers no tools: those of the original call it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::join_all;
use switchboard_mcp_wire::Era;
use switchboard_toolcall::{CallContext, ErrorKind, HumanDuration, ToolError};
use tokio::task::JoinHandle;

use super::{
    config::{ServerConfig, Share, Start, TransportKind},
    server::{Server, ServerDeps, ServerState},
    user_servers::ServerUser,
};

/// How many copies of one server there may be.
const MAX_SESSION_SERVERS: usize = 256;

/// When an unused copy is stopped, if the settings do not say.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The copies of one server, by client session.
#[derive(Default)]
pub(super) struct SessionServers(Mutex<SessionServersInner>);

#[derive(Default)]
struct SessionServersInner {
    open: HashMap<Arc<str>, SessionServer>,
    /// The tasks of copies that are stopping.
    ending: Vec<JoinHandle<()>>,
}

struct SessionServer {
    server: Arc<Server>,
    task: JoinHandle<()>,
}

impl SessionServers {
    fn lock(&self) -> MutexGuard<'_, SessionServersInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all copies.
    pub(super) fn all(&self) -> Vec<Arc<Server>> {
        self.lock().open.values().map(|copy| copy.server.clone()).collect()
    }

    /// Stops all copies, without waiting.
    pub(super) fn end_all(&self) {
        let mut all = self.lock();
        all.ending.retain(|task| !task.is_finished());
        let ended: Vec<_> = all.open.drain().map(|(_, copy)| copy).collect();
        for copy in ended {
            copy.server.stop();
            all.ending.push(copy.task);
        }
    }

    /// Waits until all copies have ended; they must have been told to stop.
    pub(super) async fn ended(&self) {
        let SessionServersInner { open, ending } = std::mem::take(&mut *self.lock());
        let tasks = open.into_values().map(|copy| copy.task).chain(ending);
        // A task that panicked has ended too.
        join_all(tasks).await;
    }
}

impl Server {
    /// Returns the instance that a call goes to.
    ///
    /// # Errors
    /// The caller is not known, or there are too many.
    pub(super) fn for_call(self: &Arc<Self>, cx: &CallContext) -> Result<Arc<Self>, ToolError> {
        let client = cx.caller_channel.as_ref().and_then(|back| back.session());
        match self.is_per_user() {
            true => self.for_caller(&cx.principal, cx.token.as_ref())?.for_client(client),
            false => self.for_client(client),
        }
    }

    /// Returns the server for a client's session: its own copy, or this server if it can be shared.
    ///
    /// # Errors
    /// Fails if there are too many copies.
    pub fn for_client(self: &Arc<Self>, client: Option<&Arc<str>>) -> Result<Arc<Self>, ToolError> {
        let Some(client) = client.filter(|_| self.is_private()) else {
            return Ok(self.clone());
        };
        let copies = &mut self.copies.lock().open;
        if let Some(copy) = copies.get(client) {
            return Ok(copy.server.clone());
        }
        if copies.len() >= MAX_SESSION_SERVERS {
            let text =
                format!("MCP server '{}' has {MAX_SESSION_SERVERS} client sessions", self.name());
            return Err(ToolError::new(ErrorKind::Overloaded, text));
        }
        let server = self
            .copy_for(self.user.clone())
            .map_err(|problem| ToolError::new(ErrorKind::Internal, problem))?;
        let task = tokio::spawn(server.clone().run());
        copies.insert(client.clone(), SessionServer { server: server.clone(), task });
        Ok(server)
    }

    /// Stops the copy of a client's session that has ended, if there is one.
    pub(super) fn release(&self, client: &str) {
        self.users.release(client);
        let mut all = self.copies.lock();
        if let Some(copy) = all.open.remove(client) {
            copy.server.stop();
            all.ending.retain(|task| !task.is_finished());
            all.ending.push(copy.task);
        }
    }

    /// Returns how many copies there are.
    pub fn copies(&self) -> usize {
        self.copies.lock().open.len()
    }

    /// Returns whether it registers no tools, so that those of the original call it.
    pub(super) fn is_copy(&self) -> bool {
        self.deps.tools.strong_count() == 0
    }

    fn is_private(&self) -> bool {
        match (self.config().share, self.kind()) {
            (Share::Session, _) => true,
            (Share::All, TransportKind::Stdio | TransportKind::Sse) => false,
            // A server that has not opened a session can be shared.
            (Share::All, TransportKind::Http) => match self.state() {
                ServerState::Ready(session) => {
                    matches!(session.era(), Era::Legacy(_)) && session.transport().has_session()
                }
                _ => false,
            },
        }
    }

    /// Creates an instance of its own, for `user` if there is one.
    pub(super) fn copy_for(&self, user: Option<ServerUser>) -> Result<Arc<Self>, String> {
        let config = ServerConfig {
            start: Start::OnDemand,
            idle_stop: Some(self.config().idle_stop.unwrap_or(HumanDuration(IDLE))),
            ..self.config().clone()
        };
        let deps = ServerDeps {
            tools: Weak::new(),
            // The original announces it if the server fails.
            announce: Arc::new(|_| {}),
            // A sign-in that is missing does not come by trying again.
            retries_permanent: self.deps.retries_permanent && user.is_none(),
            ..self.deps.clone()
        };
        // The copy has the original's key, so it finds the protocol that is remembered.
        Self::build(self.name(), config, deps, self.stop.child_token(), user, self.gate.server())
    }
}
