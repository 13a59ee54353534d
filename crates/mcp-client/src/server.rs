//! One server: connected, kept connected, and told apart from its callers' troubles.

mod link;

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use switchboard_runtime::ToolManager;
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::{
    sync::{Notify, broadcast, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    attempt::FailedAttempts,
    config::{Kind, McpConfig, ServerConfig},
    copies::Copies,
    given_up::GivenUp,
    inbox::{Answers, Changed, NoAnswers},
    known_protocols::{self, KnownProtocols},
    session::Session,
    stderr_log::StderrLog,
    transport::Transport,
    watch::Watches,
    wish::Wish,
};
use switchboard_process::guard::Guard;

/// What all servers share.
#[derive(Clone)]
pub struct Surroundings {
    /// Where tools are offered.
    pub tools: Weak<ToolManager>,
    /// The settings of `[mcp]`.
    pub mcp: McpConfig,
    /// Who answers what servers ask.
    pub answers: Arc<dyn Answers>,
    /// Who is told that a server was given up.
    pub announce: Arc<dyn Fn(&GivenUp) + Send + Sync>,
    /// How children are guarded against being left behind.
    pub guard: Option<Guard>,
    /// Which protocol each server spoke before.
    pub protocols: Arc<KnownProtocols>,
    /// Whether what waiting cannot mend, such as a program that is missing, is tried as often as everything else: in a
    /// process that runs on, somebody may install it.
    pub retries_permanent: bool,
}

impl Surroundings {
    /// Offers tools to this manager. Everything else is as usual: nobody answers servers or hears of failures, children
    /// have no guard, and protocols are remembered for as long as this process runs.
    pub fn new(tools: &Arc<ToolManager>) -> Self {
        Self {
            tools: Arc::downgrade(tools),
            mcp: McpConfig::default(),
            answers: Arc::new(NoAnswers),
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
    kind: Kind,
    config: ServerConfig,
    /// By which its protocol is remembered.
    pub(super) key: String,
    pub(super) around: Surroundings,
    pub(super) state: watch::Sender<State>,
    /// Since when it is so.
    since: Mutex<Since>,
    /// What last went wrong, and when.
    setback: Mutex<Option<Setback>>,
    /// What people want of it.
    pub(super) wish: watch::Sender<Wish>,
    /// What it wrote to its stderr.
    pub(super) stderr: Arc<StderrLog>,
    /// Rung when somebody needs the server, or has found that it is lost.
    pub(super) bell: Notify,
    pub(super) stop: CancellationToken,
    /// What failed attempts have taught.
    pub(super) failed_attempts: Mutex<FailedAttempts>,
    pub(super) starts: AtomicU64,
    /// What is open, connected or still connecting; closed before the server's task ends.
    pub(super) open: Mutex<Option<Arc<dyn Transport>>>,
    /// Tools that are not used, with the reason.
    pub(super) set_aside: Mutex<Vec<String>>,
    /// Told of everything of the server's that changes.
    pub(super) news: broadcast::Sender<Changed>,
    /// Counts the changes of its lists other than tools.
    pub(super) edition: AtomicU64,
    pub(super) copies: Copies,
    /// The resources that it tells us about.
    pub(super) watches: Watches,
}

/// How a server is.
#[derive(Clone)]
pub enum State {
    /// Not started; the first call starts it.
    Idle,
    /// Being connected.
    Connecting,
    /// Connected, its tools known.
    Ready(Arc<Session>),
    /// Lost, or never found; tried again in the background.
    GivenUp(Arc<str>),
    /// Ended for good.
    Stopped,
    /// Never connected to, because something that its settings need is missing: the reason.
    Skipped(Arc<str>),
}

impl State {
    /// Its name, for people and programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready(_) => "ready",
            Self::GivenUp(_) => "given_up",
            Self::Stopped => "stopped",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// When a server came to be as it is.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// For people.
    clock: SystemTime,
    /// For who waits.
    instant: Instant,
}

impl Since {
    fn now() -> Self {
        Self { clock: SystemTime::now(), instant: Instant::now() }
    }
}

/// Something that went wrong with a server.
#[derive(Clone, Debug)]
pub struct Setback {
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
    pub fn new(
        name: &str,
        config: ServerConfig,
        around: Surroundings,
    ) -> Result<Arc<Self>, String> {
        Self::build(name, config, around, CancellationToken::new())
    }

    /// As [`new`](Self::new), stopped with this token.
    pub(super) fn build(
        name: &str,
        config: ServerConfig,
        around: Surroundings,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, String> {
        let kind = config.kind()?;
        let state = match (&config.skipped, config.start) {
            (Some(reason), _) => State::Skipped(reason.as_str().into()),
            (None, super::config::Start::Eager) => State::Connecting,
            (None, super::config::Start::OnDemand) => State::Idle,
        };
        Ok(Arc::new(Self {
            name: name.into(),
            kind,
            key: known_protocols::key(name, &config),
            config,
            around,
            state: watch::Sender::new(state),
            since: Mutex::new(Since::now()),
            setback: Mutex::default(),
            wish: watch::Sender::default(),
            stderr: Arc::default(),
            bell: Notify::new(),
            stop,
            failed_attempts: Mutex::default(),
            starts: AtomicU64::new(0),
            open: Mutex::default(),
            set_aside: Mutex::default(),
            news: broadcast::Sender::new(256),
            edition: AtomicU64::new(0),
            copies: Copies::default(),
            watches: Watches::default(),
        }))
    }

    /// Its name in the config.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How it is reached.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its settings.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// How it is now.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Since when it is so.
    pub fn since(&self) -> SystemTime {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).clock
    }

    /// How long it is so.
    pub(super) fn age(&self) -> Duration {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).instant.elapsed()
    }

    pub(super) fn enter(&self, state: State) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Since::now();
        self.state.send_replace(state);
    }

    /// What last went wrong with it.
    pub fn setback(&self) -> Option<Setback> {
        self.setback.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_back(&self, reason: &str) {
        let setback = Setback { at: SystemTime::now(), reason: reason.to_owned() };
        *self.setback.lock().unwrap_or_else(PoisonError::into_inner) = Some(setback);
    }

    /// What it wrote to its stderr, where it has one.
    pub fn stderr(&self) -> &Arc<StderrLog> {
        &self.stderr
    }

    /// The session, as soon as there is one.
    ///
    /// # Errors
    /// The server was given up, stopped or skipped: that is known at once, and costs no deadline.
    pub async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut state = self.state.subscribe();
        loop {
            match &*state.borrow_and_update() {
                State::Ready(session) => return Ok(session.clone()),
                State::GivenUp(reason) => {
                    return Err(ToolError::new(ErrorKind::Unavailable, &**reason));
                }
                State::Stopped => return Err(self.stopped()),
                State::Skipped(reason) => return Err(self.skipped(reason)),
                State::Idle => self.bell.notify_one(),
                State::Connecting => {}
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

    /// Waits until it is connected, given up or asleep until needed.
    pub async fn settled(&self) {
        let mut state = self.state.subscribe();
        let settled = |state: &State| !matches!(state, State::Connecting);
        // The sender lives as long as we do.
        _ = state.wait_for(settled).await;
    }

    /// Connects anew, unless somebody else did since this session.
    pub(super) fn renew(&self, session: &Arc<Session>, reason: &str) {
        let renewed = self.state.send_if_modified(|state| match state {
            State::Ready(current) if Arc::ptr_eq(current, session) => {
                *state = State::Connecting;
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
            self.bell.notify_one();
        }
    }

    /// Ends it for good; its task closes the connection.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// How long one attempt to connect may take.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.config.connect_timeout.unwrap_or(self.around.mcp.connect_timeout).0
    }

    /// What is open.
    pub(super) fn open_transport(&self) -> Option<Arc<dyn Transport>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes what is open, and returns its last words when nothing of it is left.
    pub(super) async fn close(&self) -> Vec<String> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(transport) = open else {
            return Vec::new();
        };
        transport.close().await;
        transport.stderr_tail()
    }

    /// What changes at the server from now on.
    pub fn news(&self) -> broadcast::Receiver<Changed> {
        self.news.subscribe()
    }

    /// A number that grows when the server's resources or prompts have changed.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Tells who wants to know that something has changed.
    pub(super) fn tell(&self, changed: Changed) {
        if matches!(changed, Changed::Resources | Changed::Prompts) {
            self.edition.fetch_add(1, Ordering::Release);
        }
        // Nobody may be listening.
        _ = self.news.send(changed);
    }

    /// How often it was started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Its tools that are not used, with the reason.
    pub fn set_aside(&self) -> Vec<String> {
        self.set_aside.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
