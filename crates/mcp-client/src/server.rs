//! One server: its settings, its state, and the session that its calls use.

mod link;
mod sign_in;

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use switchboard_lock::{InstanceGate, Locks, ServerGate};
use switchboard_mcp_wire::{ServerChange, ServerRequestHandler, server_request::NoRequestHandler};
use switchboard_oauth::OauthDeps;
use switchboard_runtime::ToolManager;
use switchboard_sandbox::{Sandbox, SandboxDeps};
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::{
    sync::{Notify, broadcast, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    attempt::FailedAttempts,
    config::{McpConfig, ServerConfig, TransportKind},
    desired_state::DesiredState,
    fallback::GatewayRoute,
    known_protocols::{self, KnownProtocols},
    server_failure::ServerFailure,
    session::Session,
    session_servers::SessionServers,
    stderr_log::StderrLog,
    transport::Transport,
    user_servers::{ServerUser, UserServers},
    watch::Watches,
};
use sign_in::ServerSignIn;
use switchboard_process::guard::ProcessGuard;

/// What servers depend on: the same for all of them.
#[derive(Clone)]
pub struct ServerDeps {
    /// Where their tools are registered.
    pub tools: Weak<ToolManager>,
    /// The settings of `[mcp]`.
    pub mcp: McpConfig,
    /// Handles what servers request.
    pub answers: Arc<dyn ServerRequestHandler>,
    /// Called if a server could not be reached.
    pub announce: Arc<dyn Fn(&ServerFailure) + Send + Sync>,
    /// How children are guarded against being left behind.
    pub guard: Option<ProcessGuard>,
    /// How programs are confined; if `None`, those that are to be confined do not start.
    pub sandbox: Option<SandboxDeps>,
    /// Which protocol each server spoke before.
    pub protocols: Arc<KnownProtocols>,
    /// What servers may say of themselves.
    pub locks: Arc<Locks>,
    /// How to sign in to servers; if `None`, no server is signed in to.
    pub oauth: Option<OauthDeps>,
    /// Whether permanent failures, such as a missing program, are retried like all others: while a long-running process
    /// runs, somebody may install the program.
    pub retries_permanent: bool,
}

impl ServerDeps {
    /// Registers tools with this manager. Everything else is the default: requests of servers are refused, failures are not
    /// announced, children have no guard, and protocols are remembered for as long as this process runs.
    pub fn new(tools: &Arc<ToolManager>) -> Self {
        Self {
            tools: Arc::downgrade(tools),
            mcp: McpConfig::default(),
            answers: Arc::new(NoRequestHandler),
            announce: Arc::new(|_| {}),
            guard: None,
            sandbox: None,
            protocols: Arc::default(),
            locks: Arc::default(),
            oauth: None,
            retries_permanent: true,
        }
    }
}

/// One server of the config.
pub struct Server {
    name: Arc<str>,
    kind: TransportKind,
    config: ServerConfig,
    /// The key under which its protocol is remembered.
    pub(super) key: String,
    pub(super) deps: ServerDeps,
    pub(super) state: watch::Sender<ServerState>,
    /// When it entered its state.
    since: Mutex<Since>,
    /// The last error, and when it happened.
    last_error: Mutex<Option<LastError>>,
    /// What people want of it.
    pub(super) desired: watch::Sender<DesiredState>,
    /// What it wrote to its stderr.
    pub(super) stderr: Arc<StderrLog>,
    /// Notified if a call needs the server, or has found that its connection is lost.
    pub(super) wake: Notify,
    pub(super) stop: CancellationToken,
    /// How earlier attempts failed, which decides how the next one begins.
    pub(super) failed_attempts: Mutex<FailedAttempts>,
    pub(super) starts: AtomicU64,
    /// The open transport, connected or still connecting; closed before the server's task ends.
    pub(super) open: Mutex<Option<Arc<dyn Transport>>>,
    /// Holds back what is not in the lock.
    pub(super) gate: Arc<InstanceGate>,
    /// Notified if the lock has changed, so that the lists have to be compared again.
    pub(super) relist: Notify,
    /// Tools that are skipped, with the reason.
    pub(super) skipped_tools: Mutex<Vec<String>>,
    /// Broadcasts all changes of the server.
    pub(super) changes: broadcast::Sender<ServerChange>,
    /// Counts its sessions, and the changes of its lists other than tools.
    pub(super) edition: AtomicU64,
    pub(super) copies: SessionServers,
    /// The instances of callers, if each has a sign-in of its own.
    pub(super) users: UserServers,
    /// The caller whose instance it is, if each has a sign-in of its own.
    pub(super) user: Option<ServerUser>,
    /// The resources whose changes the server notifies us of.
    pub(super) watches: Watches,
    /// How it is reached if it is a gateway of our own.
    pub(super) route: watch::Sender<GatewayRoute>,
    sign_in: ServerSignIn,
}

/// The state of a server.
#[derive(Clone)]
#[non_exhaustive]
pub enum ServerState {
    /// Not started; the first call starts it.
    Idle,
    /// Being connected.
    Connecting,
    /// Connected, its tools known.
    Ready(Arc<Session>),
    /// Disconnected, or never connected; retried in the background.
    Failed(Arc<str>),
    /// Ended: halted, or stopped for good.
    Stopped,
    /// Never connected to, because something that its settings need is missing; holds the reason.
    Skipped(Arc<str>),
}

impl ServerState {
    /// Its name, for people and programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready(_) => "ready",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// When a server entered its state.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// For people.
    clock: SystemTime,
    /// For durations.
    instant: Instant,
}

impl Since {
    fn now() -> Self {
        Self { clock: SystemTime::now(), instant: Instant::now() }
    }
}

/// The last error of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// When it happened.
    pub at: SystemTime,
    /// What went wrong.
    pub reason: String,
}

impl Server {
    /// Creates a server that is not connected yet.
    ///
    /// # Errors
    /// Fails if the settings do not say how to reach it.
    pub fn new(name: &str, config: ServerConfig, deps: ServerDeps) -> Result<Arc<Self>, String> {
        let gate = ServerGate::new(name.into(), config.lock, deps.locks.clone());
        Self::build(name, config, deps, CancellationToken::new(), None, &gate)
    }

    /// Like [`new`](Self::new), but stopped by the token `stop`, and the instance of `user` if there is one.
    pub(super) fn build(
        name: &str,
        config: ServerConfig,
        deps: ServerDeps,
        stop: CancellationToken,
        user: Option<ServerUser>,
        gate: &Arc<ServerGate>,
    ) -> Result<Arc<Self>, String> {
        let kind = config.kind()?;
        let state = match (&config.skipped, config.start) {
            (Some(reason), _) => ServerState::Skipped(reason.as_str().into()),
            (None, super::config::Start::Eager) => ServerState::Connecting,
            (None, super::config::Start::OnDemand) => ServerState::Idle,
        };
        let sign_in = match &user {
            Some(user) => ServerSignIn::of(Some(user.authorizer.clone())),
            None => ServerSignIn::new(name, kind, &config, deps.oauth.as_ref()),
        };
        Ok(Arc::new(Self {
            name: name.into(),
            kind,
            key: known_protocols::key(name, &config),
            config,
            deps,
            state: watch::Sender::new(state),
            since: Mutex::new(Since::now()),
            last_error: Mutex::default(),
            desired: watch::Sender::default(),
            stderr: Arc::default(),
            wake: Notify::new(),
            stop,
            failed_attempts: Mutex::default(),
            starts: AtomicU64::new(0),
            open: Mutex::default(),
            gate: Arc::new(gate.instance()),
            relist: Notify::new(),
            skipped_tools: Mutex::default(),
            changes: broadcast::Sender::new(256),
            edition: AtomicU64::new(0),
            copies: SessionServers::default(),
            users: UserServers::default(),
            user,
            watches: Watches::default(),
            route: watch::Sender::default(),
            sign_in,
        }))
    }

    /// Its name in the config.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How it is reached.
    pub fn kind(&self) -> TransportKind {
        self.kind
    }

    /// Its settings.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns its state.
    pub fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    /// Returns when it entered its state.
    pub fn since(&self) -> SystemTime {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).clock
    }

    /// Returns how long it has been in its state.
    pub(super) fn age(&self) -> Duration {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).instant.elapsed()
    }

    pub(super) fn enter(&self, state: ServerState) {
        if matches!(state, ServerState::Ready(_)) {
            self.sign_in.is_settled();
            // A new session may have other lists.
            self.edition.fetch_add(1, Ordering::Release);
        }
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Since::now();
        self.state.send_replace(state);
    }

    /// Returns its last error.
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn record_error(&self, reason: &str) {
        let last_error = LastError { at: SystemTime::now(), reason: reason.to_owned() };
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(last_error);
    }

    /// Returns its stderr log; empty unless it is a stdio server.
    pub fn stderr(&self) -> &Arc<StderrLog> {
        &self.stderr
    }

    /// Waits for the session.
    ///
    /// # Errors
    /// Fails at once if the server failed, was stopped or is skipped.
    pub async fn session(&self) -> Result<Arc<Session>, ToolError> {
        if self.is_per_user() {
            let text = format!("MCP server '{}' is used by each caller apart", self.name);
            return Err(ToolError::new(ErrorKind::Unavailable, text));
        }
        let mut state = self.state.subscribe();
        loop {
            match &*state.borrow_and_update() {
                ServerState::Ready(session) => return Ok(session.clone()),
                ServerState::Failed(reason) => {
                    let error = ToolError::new(ErrorKind::Unavailable, &**reason);
                    return Err(match self.needs_sign_in() {
                        Some(_) => error.with_hint(self.sign_in_hint()),
                        None => error,
                    });
                }
                ServerState::Stopped => return Err(self.stopped()),
                ServerState::Skipped(reason) => return Err(self.skipped(reason)),
                ServerState::Idle => self.wake.notify_one(),
                ServerState::Connecting => {}
            }
            if state.changed().await.is_err() {
                return Err(self.stopped());
            }
        }
    }

    pub(super) fn stopped(&self) -> ToolError {
        let text = format!("MCP server '{}' has been stopped", self.name);
        ToolError::new(ErrorKind::Unavailable, text)
    }

    pub(super) fn skipped(&self, reason: &str) -> ToolError {
        let text = format!("Server '{}' is skipped: {reason}", self.name);
        ToolError::new(ErrorKind::Unavailable, text)
    }

    /// Waits until it is connected, failed or idle.
    pub async fn wait_until_ready(&self) {
        let mut state = self.state.subscribe();
        let settled = |state: &ServerState| !matches!(state, ServerState::Connecting);
        // Cannot fail: `self` owns the sender.
        _ = state.wait_for(settled).await;
    }

    /// Reconnects, unless that has happened since this session.
    pub(super) fn renew(&self, session: &Arc<Session>, reason: &str) {
        let renewed = self.state.send_if_modified(|state| match state {
            ServerState::Ready(current) if Arc::ptr_eq(current, session) => {
                *state = ServerState::Connecting;
                true
            }
            _ => false,
        });
        if renewed {
            *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Since::now();
            tracing::info!(
                server = &*self.name,
                reason,
                "MCP server '{}' is connected again",
                self.name
            );
            self.wake.notify_one();
        }
    }

    /// Stops the server for good; its task closes the connection.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// How long one attempt to connect may take.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.config.connect_timeout.unwrap_or(self.deps.mcp.connect_timeout).0
    }

    /// Returns the open transport.
    pub(super) fn open_transport(&self) -> Option<Arc<dyn Transport>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what confines its program, while that runs.
    pub fn open_sandbox(&self) -> Option<Arc<Sandbox>> {
        self.open_transport()?.sandbox().cloned()
    }

    /// Closes the connection, waits until its process is gone, and returns the last lines of its stderr.
    pub(super) async fn close(&self) -> Vec<String> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(transport) = open else {
            return Vec::new();
        };
        transport.close().await;
        transport.stderr_tail()
    }

    /// Broadcasts a change.
    pub(super) fn tell(&self, changed: ServerChange) {
        if matches!(changed, ServerChange::Resources | ServerChange::Prompts) {
            self.edition.fetch_add(1, Ordering::Release);
        }
        // There may be no subscriber.
        _ = self.changes.send(changed);
    }

    /// Returns how often it was started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Returns its tools that are skipped, with the reason.
    pub fn skipped_tools(&self) -> Vec<String> {
        self.skipped_tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
