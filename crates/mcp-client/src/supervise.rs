//! Supervises a server's connection: follows its changes while it lasts, reconnects when it is lost.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use switchboard_mcp_wire::{Era, List, ServerChange};
use switchboard_runtime::ServerLink;
use switchboard_toolcall::{HumanDuration, Tool};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep, sleep_until},
};
use tracing::{info, warn};

use super::{
    caller_sign_in::SignInTool,
    config::Start,
    connect::LONGEST_PAUSE,
    inbox::PendingChanges,
    server::{Server, ServerState},
    session::{OutgoingRequest, Session},
    tool::RemoteTool,
    transport::Failure,
};

/// A server that lives longer than this counts as recovered from earlier crashes.
const HEALTHY: Duration = Duration::from_secs(30);

/// The shortest time for which changes are collected before a list is read again.
const SETTLE: Duration = Duration::from_millis(50);

/// A connected session, with the changes that the server reports.
pub(super) struct ConnectedServer {
    pub(super) session: Arc<Session>,
    pub(super) changes: Arc<PendingChanges>,
    /// How many tools it lists.
    tools: usize,
    /// When the list of tools becomes stale, by the server's `ttlMs`.
    stale: Option<Instant>,
    /// How long changes are collected before the tools are read again: ten times what it took to check them, so that a
    /// server that keeps reporting changes costs at most a tenth of a core.
    settle: Duration,
}

impl ConnectedServer {
    pub(super) fn new(session: Session, changes: Arc<PendingChanges>) -> Self {
        Self { session: Arc::new(session), changes, tools: 0, stale: None, settle: SETTLE }
    }
}

impl Server {
    /// Keeps the server connected until it is stopped.
    pub async fn run(self: Arc<Self>) {
        let stop = self.stop.clone();
        stop.run_until_cancelled(self.reconcile()).await;
        self.enter(ServerState::Stopped);
        self.close().await;
        // The copies were stopped together with this server.
        self.copies.ended().await;
        self.users.ended().await;
        if let Some(authorizer) = self.authorizer() {
            authorizer.wait_for_renewal().await;
        }
    }

    /// Connects, and reconnects when the connection is lost. Never returns.
    pub(super) async fn keep_connected(self: &Arc<Self>) {
        if self.is_per_user() {
            return self.keep_listed().await;
        }
        let mut deaths = 0_u32;
        loop {
            if self.config().start == Start::OnDemand {
                self.enter(ServerState::Idle);
                self.wake.notified().await;
            }
            self.enter(ServerState::Connecting);
            if deaths > 1 {
                sleep(self.pause(deaths - 1)).await;
            }
            let connected = match self.connect().await {
                Ok(connected) => connected,
                Err(failure) => self.connect_in_background(failure).await,
            };
            let began = Instant::now();
            self.enter(ServerState::Ready(connected.session.clone()));
            self.log_connected(&connected);
            self.tell_of_lists(&connected.session);
            self.check_other_lists(&connected.session);
            let server = self.clone();
            tokio::spawn(async move { server.watch_again().await });
            let reason = self.attend(connected).await;
            // From here on calls wait for the next session instead of failing with this one.
            self.enter(ServerState::Connecting);
            self.close().await;
            deaths = if began.elapsed() > HEALTHY { 1 } else { deaths + 1 };
            info!(server = &**self.name(), "MCP server '{}': {reason}", self.name());
        }
    }

    fn log_connected(&self, connected: &ConnectedServer) {
        let (name, count) = (self.name(), connected.tools);
        let protocol = connected.session.era();
        let tools = if count == 1 { "tool" } else { "tools" };
        info!(
            server = &**name,
            "MCP server '{name}' is connected: {count} {tools}, protocol {protocol}"
        );
    }

    /// Reads the server's tools and registers them.
    pub(super) async fn read_tools(
        self: &Arc<Self>,
        connected: &mut ConnectedServer,
    ) -> Result<(), Failure> {
        let listed = connected.session.list(List::Tools).await?;
        let shortest = Duration::from_secs(10);
        let ttl = listed.ttl.filter(|ttl| !ttl.is_zero());
        connected.stale = ttl.map(|ttl| Instant::now() + ttl.max(shortest));
        connected.tools = listed.entries.len();
        let began = Instant::now();
        match self.user {
            Some(_) => self.offer_for_user(listed.entries).await,
            None => self.offer(listed.entries).await,
        }
        connected.settle = (10 * began.elapsed()).clamp(SETTLE, LONGEST_PAUSE);
        Ok(())
    }

    /// Replaces the server's registered tools. They are checked off the serving threads, because a server may list many
    /// large ones.
    pub(super) async fn offer(self: &Arc<Self>, entries: Vec<Value>) {
        let Some(manager) = self.deps.tools.upgrade() else {
            return;
        };
        let link: Arc<dyn ServerLink> = self.clone();
        if !manager.is_linked(self.name(), &link) {
            // A changed config has replaced this server.
            return;
        }
        let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(entries.len());
        let mut aside = Vec::new();
        for entry in entries {
            match RemoteTool::new(entry, self, manager.separator()) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(problem) => {
                    warn!(
                        server = &**self.name(),
                        "a tool of server '{}' is skipped: {problem}",
                        self.name()
                    );
                    aside.push(problem);
                }
            }
        }
        if tools.is_empty() && self.is_per_user() && !matches!(self.state(), ServerState::Stopped) {
            tools.push(Arc::new(SignInTool::new(self, manager.separator())));
        }
        let (checking, name) = (manager.clone(), self.name().clone());
        let checked = spawn_blocking(move || checking.check_server_tools(&name, tools));
        let Ok(checked) = checked.await else {
            warn!(server = &**self.name(), "the tools of '{}' could not be checked", self.name());
            return;
        };
        if !manager.is_linked(self.name(), &link) {
            return;
        }
        let withheld = self.withheld_tools(&checked);
        aside.extend(
            withheld.iter().map(|tool| format!("'{}' {}; {}", tool.name, tool.reason, tool.hint)),
        );
        let refused = manager.put_server_tools(checked.withhold(withheld));
        aside.extend(refused.iter().map(ToString::to_string));
        *self.skipped_tools.lock().unwrap_or_else(PoisonError::into_inner) = aside;
    }

    /// Follows the server's changes until the connection ends; returns the reason.
    async fn attend(self: &Arc<Self>, mut connected: ConnectedServer) -> String {
        let session = connected.session.clone();
        let lost = session.transport().lost();
        tokio::pin!(lost);
        let listening = listen(&session);
        tokio::pin!(listening);
        loop {
            let idle = self.idle_end(&session);
            tokio::select! {
                reason = &mut lost => {
                    self.record_error(&reason);
                    return reason;
                }
                () = self.wake.notified() => {
                    if !self.is_current(&session) {
                        return "the connection is renewed".to_owned();
                    }
                }
                () = &mut listening => return "the connection ended".to_owned(),
                () = idle => return "it was not needed for a while".to_owned(),
                changed = connected.changes.next() => {
                    self.follow(changed, &mut connected).await;
                }
                () = until(connected.stale) => self.read_again(&mut connected).await,
                () = self.relist.notified() => {
                    self.read_again(&mut connected).await;
                    self.check_other_lists(&session);
                }
            }
        }
    }

    /// Announces changed lists: after a reconnect, the server may have other resources and prompts.
    fn tell_of_lists(&self, session: &Session) {
        for (list, changed) in
            [("resources", ServerChange::Resources), ("prompts", ServerChange::Prompts)]
        {
            if session.capabilities().get(list).is_some() {
                self.tell(changed);
            }
        }
    }

    /// Broadcasts a change; if the tools have changed, reads them again once the changes have settled.
    async fn follow(self: &Arc<Self>, changed: ServerChange, connected: &mut ConnectedServer) {
        let is_other = |changed: &ServerChange| {
            matches!(changed, ServerChange::Prompts | ServerChange::Resources)
        };
        let mut tools = changed == ServerChange::Tools;
        let mut others = is_other(&changed);
        self.tell(changed);
        if tools {
            sleep(connected.settle).await;
        }
        for changed in connected.changes.take() {
            tools |= changed == ServerChange::Tools;
            others |= is_other(&changed);
            self.tell(changed);
        }
        if tools {
            self.read_again(connected).await;
        }
        if others {
            self.check_other_lists(&connected.session);
        }
    }

    async fn read_again(self: &Arc<Self>, connected: &mut ConnectedServer) {
        connected.stale = None;
        if let Err(failure) = self.read_tools(connected).await {
            warn!(server = &**self.name(), %failure, "the tools of '{}' could not be read again", self.name());
        }
    }

    fn is_current(&self, session: &Arc<Session>) -> bool {
        matches!(&*self.state.borrow(), ServerState::Ready(current) if Arc::ptr_eq(current, session))
    }

    /// Resolves when a server that was started on demand has been unused for `idle_stop`.
    async fn idle_end(&self, session: &Arc<Session>) {
        match (self.config().start, self.config().idle_stop) {
            (Start::OnDemand, Some(HumanDuration(limit))) => session.usage().idle_for(limit).await,
            _ => std::future::pending().await,
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Follows the changes of a modern server. Never returns, so that it can be a branch of a `select!`.
async fn listen(session: &Session) {
    let declares = |list: &str| session.capabilities()[list]["listChanged"] == true;
    let wanted = json!({
        "toolsListChanged": declares("tools"),
        "promptsListChanged": declares("prompts"),
        "resourcesListChanged": declares("resources"),
    });
    let any = wanted.as_object().is_some_and(|wanted| wanted.values().any(|value| value == true));
    if *session.era() == Era::Modern && any {
        loop {
            let params = Map::from_iter([("notifications".to_owned(), wanted.clone())]);
            match session.ask(OutgoingRequest::new("subscriptions/listen", params)).await {
                Err(
                    Failure::Rpc(_)
                    | Failure::Http { .. }
                    | Failure::SignIn(_)
                    | Failure::Protocol(_),
                ) => break,
                // The stream ended, which is normal.
                Ok(_) | Err(Failure::Lost(_) | Failure::NoToken(_) | Failure::SessionExpired) => {
                    sleep(Duration::from_secs(5)).await
                }
            }
        }
    }
    std::future::pending().await
}
