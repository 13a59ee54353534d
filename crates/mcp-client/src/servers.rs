//! All servers of a config: started concurrently, replaced when the config changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use futures_util::future::join_all;
use indexmap::IndexMap;
use switchboard_mcp_wire::{Method, Upstream};
use switchboard_oauth::{OauthDeps, ServerAuth};
use switchboard_runtime::{ServerSettings, ToolManager};
use switchboard_toolcall::{CallerToken, Principal, Tool};
use tokio::{sync::broadcast, task::JoinHandle, time::timeout};

use super::{
    config::ServerConfig,
    method::RemoteMethod,
    server::{Server, ServerDeps, ServerState},
    user_servers::revoke_sign_ins,
};

/// How long calls to a server that was removed from the config may still take.
pub(super) const RETIRING: Duration = Duration::from_secs(60);
/// How long a removed server must be without calls before it ends: a call that has looked up its tool may not have reached it yet.
pub(super) const QUIET: Duration = Duration::from_millis(200);

/// The servers of a config, each in a task of its own.
pub struct Servers {
    servers: RwLock<ServersByName>,
    tasks: Mutex<HashMap<Arc<str>, JoinHandle<()>>>,
    /// Servers that were removed from the config and still have calls to finish.
    retiring: Mutex<Vec<(Arc<Server>, JoinHandle<()>)>>,
    pub(super) added: broadcast::Sender<Arc<dyn Upstream>>,
    deps: ServerDeps,
}

type ServersByName = IndexMap<Arc<str>, Arc<Server>>;

/// Why the servers cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("server `{server}`: {problem}")]
pub struct ConfigError {
    /// The server.
    pub server: String,
    /// What is wrong with its settings.
    pub problem: String,
}

/// The servers of a new config, ready to replace the old ones.
pub struct ServersUpdate {
    servers: ServersByName,
}

impl ServersUpdate {
    /// Returns the settings that the tool manager needs, in the order of the config.
    pub fn settings(&self) -> Vec<(Arc<str>, ServerSettings)> {
        self.servers.iter().map(|(name, server)| (name.clone(), settings(server))).collect()
    }
}

impl Servers {
    /// Registers the servers with the manager, in order, and starts to connect. Does not wait for the connections.
    ///
    /// # Errors
    /// Fails if the settings of a server are invalid.
    pub fn start(
        configs: IndexMap<String, ServerConfig>,
        tools: &Arc<ToolManager>,
        deps: &ServerDeps,
    ) -> Result<Self, ConfigError> {
        let servers = Self {
            servers: RwLock::default(),
            tasks: Mutex::default(),
            retiring: Mutex::default(),
            added: broadcast::Sender::new(256),
            deps: deps.clone(),
        };
        let exchange = servers.prepare(configs)?;
        for (name, settings) in exchange.settings() {
            let wrong = |error: switchboard_runtime::AddError| ConfigError {
                server: name.to_string(),
                problem: error.to_string(),
            };
            tools.add_server(&name, settings).map_err(wrong)?;
        }
        servers.exchange(exchange);
        Ok(servers)
    }

    /// Creates the servers of a new config; those whose settings have not changed are kept. Starts nothing.
    ///
    /// # Errors
    /// Fails if the settings of a server are invalid.
    pub fn prepare(
        &self,
        configs: IndexMap<String, ServerConfig>,
    ) -> Result<ServersUpdate, ConfigError> {
        let known = self.known();
        let mut servers = ServersByName::new();
        for (name, config) in configs {
            if !config.is_enabled() {
                continue;
            }
            let same = known.get(&*name).filter(|server| *server.config() == config);
            let server = match same {
                Some(server) => server.clone(),
                None => Server::new(&name, config, self.deps.clone())
                    .map_err(|problem| ConfigError { server: name.clone(), problem })?,
            };
            servers.insert(server.name().clone(), server);
        }
        Ok(ServersUpdate { servers })
    }

    /// Replaces the servers: new ones start, and removed ones end once their calls have.
    pub fn exchange(&self, exchange: ServersUpdate) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *servers, exchange.servers);
        let is_in = |all: &ServersByName, server: &Arc<Server>| {
            all.get(server.name()).is_some_and(|other| Arc::ptr_eq(other, server))
        };
        let gone: Vec<_> =
            old.values().filter(|server| !is_in(&servers, server)).cloned().collect();
        let new: Vec<_> = servers.values().filter(|server| !is_in(&old, server)).cloned().collect();
        drop(servers);
        let (mut tasks, mut retiring) = (lock(&self.tasks), lock(&self.retiring));
        retiring.retain(|(_, task)| !task.is_finished());
        for server in gone {
            let task = tasks.remove(server.name());
            retiring.push((server.clone(), tokio::spawn(retire(server, task))));
        }
        for server in new {
            tasks.insert(server.name().clone(), tokio::spawn(server.clone().run()));
            // There may be no subscriber.
            let _ = self.added.send(server);
        }
    }

    /// All servers, in the order of the config.
    pub fn all(&self) -> Vec<Arc<Server>> {
        self.known().into_values().collect()
    }

    /// One server by its name.
    pub fn get(&self, name: &str) -> Option<Arc<Server>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns what signing in to servers needs; `None` if no server is signed in to.
    pub fn oauth(&self) -> Option<&OauthDeps> {
        self.deps.oauth.as_ref()
    }

    /// Signs a caller out of all servers, and forgets also its sign-ins to servers that are no longer in the config.
    pub async fn sign_out_everywhere(&self, principal: &Principal) {
        for server in self.all().iter().filter(|server| server.is_per_user()) {
            if let Err(error) = server.sign_out(principal).await {
                tracing::warn!(server = &**server.name(), %error, "a caller could not be signed out");
            }
        }
        if let Some(deps) = &self.deps.oauth
            && let Err(error) = revoke_sign_ins(deps, |caller| caller == principal).await
        {
            tracing::warn!(%error, "the sign-ins of a caller could not be forgotten");
        }
    }

    /// Lists the tools of servers that exchange callers' tokens, with this caller's, if nobody has yet; waits a few seconds at
    /// most.
    pub async fn list_with(&self, principal: &Principal, token: &CallerToken) {
        let is_meant = |server: &&Arc<Server>| {
            server.config().auth == ServerAuth::Exchange && server.is_per_user()
        };
        let meant: Vec<_> = {
            let all = self.servers.read().unwrap_or_else(PoisonError::into_inner);
            all.values().filter(is_meant).cloned().collect()
        };
        join_all(meant.iter().map(|server| server.list_with(principal, token))).await;
    }

    /// Waits until each server is connected, failed or idle.
    pub async fn wait_until_ready(&self) {
        let servers = self.all();
        join_all(servers.iter().map(|server| server.wait_until_ready())).await;
    }

    /// Like [`wait_until_ready`](Self::wait_until_ready), but waits for each server at most `limit` after it began to connect. Returns those
    /// that are still connecting.
    pub async fn wait_until_ready_within(&self, limit: Duration) -> Vec<Arc<Server>> {
        let waits = self.all().into_iter().map(|server| async move {
            let rest = limit.saturating_sub(server.age());
            timeout(rest, server.wait_until_ready()).await.err().map(|_| server)
        });
        join_all(waits).await.into_iter().flatten().collect()
    }

    /// Returns the servers that are connecting now, and that [`wait_until_ready_within`](Self::wait_until_ready_within) would wait for.
    pub fn connecting(&self, limit: Duration) -> Vec<Arc<Server>> {
        let is_awaited = |server: &Arc<Server>| {
            matches!(server.state(), ServerState::Connecting) && server.age() < limit
        };
        self.all().into_iter().filter(is_awaited).collect()
    }

    /// Stops all servers and waits until their processes and connections are gone.
    pub async fn close(&self) {
        let retiring = std::mem::take(&mut *lock(&self.retiring));
        for server in self.all().iter().chain(retiring.iter().map(|(server, _)| server)) {
            server.stop();
        }
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        let retiring = retiring.into_iter().map(|(_, task)| task);
        join_all(tasks.into_values().chain(retiring)).await;
        // A message that is still being sent may begin a renewal after its server has stopped, and would lose the new refresh token.
        for server in self.all() {
            if let Some(authorizer) = server.authorizer() {
                authorizer.end().await;
            }
        }
    }

    fn known(&self) -> ServersByName {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Lets calls finish, then ends the server.
async fn retire(server: Arc<Server>, task: Option<JoinHandle<()>>) {
    if let ServerState::Ready(session) = server.state() {
        let idle = timeout(RETIRING, session.usage().idle_for(QUIET));
        tokio::select! {
            _ = idle => {}
            () = server.stop.cancelled() => {}
        }
    }
    server.stop();
    if let Some(task) = task {
        let _ = task.await;
    }
}

fn settings(server: &Arc<Server>) -> ServerSettings {
    let config = server.config();
    let usual = ServerSettings::default().max_concurrent;
    ServerSettings {
        prefix: config.prefix.clone(),
        max_concurrent: config.max_concurrent.unwrap_or(usual),
        link: Some(server.clone()),
        methods: methods(server),
    }
}

/// Returns the server's methods other than `tools/call`, as hidden tools.
fn methods(server: &Arc<Server>) -> Vec<Arc<dyn Tool>> {
    let Some(manager) = server.deps.tools.upgrade() else { return Vec::new() };
    let method = |method| -> Arc<dyn Tool> {
        Arc::new(RemoteMethod::new(method, server, manager.separator()))
    };
    Method::ALL.map(method).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
