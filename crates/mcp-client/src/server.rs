//! One server: its settings, its state, and the session that its calls use.

mod link;

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use switchboard_mcp_wire::{ServerChange, ServerRequestHandler, server_request::NoRequestHandler};
use switchboard_runtime::ToolManager;
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
    known_protocols::{self, KnownProtocols},
    server_failure::ServerFailure,
    session::Session,
    session_servers::SessionServers,
    stderr_log::StderrLog,
    transport::Transport,
    watch::Watches,
};
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
    /// Which protocol each server spoke before.
    pub protocols: Arc<KnownProtocols>,
    /// Whether what waiting cannot mend, such as a program that is missing, is tried as often as everything else: in a
    /// process that runs on, somebody may install it.
    pub retries_permanent: bool,
}

impl ServerDeps {
    /// Registers tools with this manager. Everything else is the default: nobody answers servers or hears of failures, children
    /// have no guard, and protocols are remembered for as long as this process runs.
    pub fn new(tools: &Arc<ToolManager>) -> Self {
        Self {
            tools: Arc::downgrade(tools),
            mcp: McpConfig::default(),
            answers: Arc::new(NoRequestHandler),
            announce: Arc::new(|_| {}),
            guard: None,
            protocols: Arc::default(),
            retries_permanent: true,
        }
    }
}

/// One server of the config.
pub struct Server {
    name: Arc<str>,
    kind: TransportKind,
    config: ServerConfig,
    /// By which its protocol is remembered.
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
    /// What failed attempts say about the next one.
    pub(super) failed_attempts: Mutex<FailedAttempts>,
    pub(super) starts: AtomicU64,
    /// What is open, connected or still connecting; closed before the server's task ends.
    pub(super) open: Mutex<Option<Arc<dyn Transport>>>,
    /// Tools that are skipped, with the reason.
    pub(super) skipped_tools: Mutex<Vec<String>>,
    /// Carries everything of the server that changes.
    pub(super) changes: broadcast::Sender<ServerChange>,
    /// Counts its sessions, and the changes of its lists other than tools.
    pub(super) edition: AtomicU64,
    pub(super) copies: SessionServers,
    /// The resources that it tells us about.
    pub(super) watches: Watches,
}

/// The state of a server.
#[derive(Clone)]
pub enum ServerState {
    /// Not started; the first call starts it.
    Idle,
    /// Being connected.
    Connecting,
    /// Connected, its tools known.
    Ready(Arc<Session>),
    /// Lost, or never found; tried again in the background.
    Failed(Arc<str>),
    /// Ended for good.
    Stopped,
    /// Never connected to, because something that its settings need is missing: the reason.
    Skipped(Arc<str>),
}

impl ServerState {
    /// Its name, for people and programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready(_) => "ready",
            Self::Failed(_) => "given_up",
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
pub struct LastError {
    /// When.
    pub at: SystemTime,
    /// What.
    pub reason: String,
}

impl Server {
    /// A server that nobody has connected to yet.
    ///
    /// # Errors
    /// The settings do not say how to reach it.
    pub fn new(name: &str, config: ServerConfig, deps: ServerDeps) -> Result<Arc<Self>, String> {
        Self::build(name, config, deps, CancellationToken::new())
    }

    /// As [`new`](Self::new), stopped with this token.
    pub(super) fn build(
        name: &str,
        config: ServerConfig,
        deps: ServerDeps,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, String> {
        let kind = config.kind()?;
        let state = match (&config.skipped, config.start) {
            (Some(reason), _) => ServerState::Skipped(reason.as_str().into()),
            (None, super::config::Start::Eager) => ServerState::Connecting,
            (None, super::config::Start::OnDemand) => ServerState::Idle,
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
            skipped_tools: Mutex::default(),
            changes: broadcast::Sender::new(256),
            edition: AtomicU64::new(0),
            copies: SessionServers::default(),
            watches: Watches::default(),
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

    /// What it wrote to its stderr, where it has one.
    pub fn stderr(&self) -> &Arc<StderrLog> {
        &self.stderr
    }

    /// Waits for the session.
    ///
    /// # Errors
    /// Fails at once if the server failed, was stopped or is skipped.
    pub async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut state = self.state.subscribe();
        loop {
            match &*state.borrow_and_update() {
                ServerState::Ready(session) => return Ok(session.clone()),
                ServerState::Failed(reason) => {
                    return Err(ToolError::new(ErrorKind::Unavailable, &**reason));
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

    fn stopped(&self) -> ToolError {
        let text = format!("MCP server '{}' has been stopped", self.name);
        ToolError::new(ErrorKind::Unavailable, text)
    }

    fn skipped(&self, reason: &str) -> ToolError {
        let text = format!("Server '{}' is skipped: {reason}", self.name);
        ToolError::new(ErrorKind::Unavailable, text)
    }

    /// Waits until it is connected, failed or idle.
    pub async fn settled(&self) {
        let mut state = self.state.subscribe();
        let settled = |state: &ServerState| !matches!(state, ServerState::Connecting);
        // The sender lives as long as we do.
        _ = state.wait_for(settled).await;
    }

    /// Connects anew, unless somebody else did since this session.
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
                "MCP server '{}' is connected anew",
                self.name
            );
            self.wake.notify_one();
        }
    }

    /// Ends it for good; its task closes the connection.
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

    /// Closes the connection, and returns the last lines of its stderr when nothing of it is left.
    pub(super) async fn close(&self) -> Vec<String> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(transport) = open else {
            return Vec::new();
        };
        transport.close().await;
        transport.stderr_tail()
    }

    /// Announces that something has changed.
    pub(super) fn tell(&self, changed: ServerChange) {
        if matches!(changed, ServerChange::Resources | ServerChange::Prompts) {
            self.edition.fetch_add(1, Ordering::Release);
        }
        // Nobody may be listening.
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
