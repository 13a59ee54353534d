//! Follows changes of tools, resources and prompts, and notifies clients once they have settled.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use switchboard_mcp_wire::{Method, Outgoing, ServerChange, Upstream, Upstreams};
use tokio::{
    sync::{broadcast, watch},
    time::{interval, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{McpCaller, ServerInner, session::Session};

/// Starts the background tasks of the server.
pub(super) fn follow(
    inner: &Arc<ServerInner>,
    upstreams: Option<&dyn Upstreams>,
    end: &CancellationToken,
) {
    let inside = Arc::downgrade(inner);
    let settle = inner.config.settle.0;
    let tools = inner.executor.tools().version();
    spawn(end, follow_tools(inside.clone(), tools, settle));
    if let Some(upstreams) = upstreams {
        let added = upstreams.added();
        for server in upstreams.all() {
            spawn(end, follow_server(inside.clone(), server.clone(), settle));
        }
        spawn(end, follow_added(inside.clone(), added, settle, end.clone()));
    }
    spawn(end, sweep(inside, inner.config.idle_session.0, inner.config.hold.0));
}

fn spawn(end: &CancellationToken, work: impl Future<Output = ()> + Send + 'static) {
    let end = end.clone();
    tokio::spawn(async move { end.run_until_cancelled(work).await });
}

async fn follow_tools(
    inside: Weak<ServerInner>,
    mut version: watch::Receiver<u64>,
    settle: Duration,
) {
    while version.changed().await.is_ok() {
        sleep(settle).await;
        version.mark_unchanged();
        let Some(inner) = inside.upgrade() else { return };
        inner.tell(AnnouncedChange { changed: ServerChange::Tools, server: None });
    }
}

/// Follows servers that a changed config brings.
async fn follow_added(
    inside: Weak<ServerInner>,
    mut added: broadcast::Receiver<Arc<dyn Upstream>>,
    settle: Duration,
    end: CancellationToken,
) {
    loop {
        match added.recv().await {
            Ok(server) => spawn(&end, follow_server(inside.clone(), server, settle)),
            // More servers at once than the channel holds; changes of their tools are still announced.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn follow_server(inside: Weak<ServerInner>, server: Arc<dyn Upstream>, settle: Duration) {
    let mut changes = server.changes();
    loop {
        let mut settled = match changes.recv().await {
            Ok(changed) => vec![changed],
            // Too many changes to be announced one by one.
            Err(broadcast::error::RecvError::Lagged(_)) => {
                vec![ServerChange::Resources, ServerChange::Prompts]
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        sleep(settle).await;
        while let Ok(changed) = changes.try_recv() {
            if !settled.contains(&changed) {
                settled.push(changed);
            }
        }
        let Some(inner) = inside.upgrade() else { return };
        // Tools are announced once the manager has them.
        for changed in settled.into_iter().filter(|changed| *changed != ServerChange::Tools) {
            inner.tell(AnnouncedChange { changed, server: Some(server.clone()) });
        }
    }
}

async fn sweep(inside: Weak<ServerInner>, idle: Duration, hold: Duration) {
    let often = idle.min(hold) / 4;
    let mut ticks = interval(often.clamp(Duration::from_millis(100), Duration::from_secs(60)));
    loop {
        ticks.tick().await;
        let Some(inner) = inside.upgrade() else { return };
        for session in inner.sessions.take_idle(idle) {
            inner.end(&session);
        }
        inner.suspended.sweep(hold);
        inner.ended_sessions.sweep(inner.config.session_age.0);
    }
}

/// A change that clients are notified of.
#[derive(Clone)]
pub(crate) struct AnnouncedChange {
    pub(crate) changed: ServerChange,
    /// The server whose resources or prompts changed.
    server: Option<Arc<dyn Upstream>>,
}

impl AnnouncedChange {
    /// Creates a change of the tools, of resources or of prompts of any servers.
    pub(crate) fn of_any(changed: ServerChange) -> Self {
        Self { changed, server: None }
    }
}

impl ServerInner {
    /// Returns whether a caller may know of a change; `lists` is given the digest of the tools that the caller may list now, and
    /// says whether it changed.
    pub(crate) fn concerns(
        &self,
        change: &AnnouncedChange,
        caller: &McpCaller,
        lists: impl FnOnce(u64) -> bool,
    ) -> bool {
        if !caller.is_restricted() {
            return true;
        }
        let shows = |method| match &change.server {
            Some(server) => self.catalog.shows(&**server, method, caller),
            None => true,
        };
        match change.changed {
            ServerChange::Tools => lists(self.catalog.digest(caller)),
            ServerChange::Prompts => shows(Method::GetPrompt),
            ServerChange::Resources | ServerChange::Resource(_) => shows(Method::ReadResource),
        }
    }

    fn tell(self: &Arc<Self>, change: AnnouncedChange) {
        let changed = &change.changed;
        let (method, params) = changed.notification();
        let elsewhere = self.sessions.tell(changed, method, params.as_deref(), |session| {
            self.concerns(&change, &session.caller, |digest| session.lists(digest))
        });
        if self.peers.is_some() && !elsewhere.is_empty() {
            let message = Outgoing::notification(method, params.as_deref());
            tokio::spawn(self.clone().tell_elsewhere(elsewhere, message.to_bytes().into()));
        }
        // There may be no listener.
        _ = self.changes.send(change);
    }

    /// Notifies clients that have their streams at other gateways. A repeated notification does no harm.
    async fn tell_elsewhere(self: Arc<Self>, sessions: Vec<Arc<Session>>, message: Bytes) {
        for session in sessions {
            self.broadcast(&session, message.clone()).await;
        }
    }
}
