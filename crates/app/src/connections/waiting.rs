//! Waits for servers, at most for `[mcp] startup_wait`; after that the command continues without them (SPEC TL-6).

use std::{sync::Arc, time::Duration};

use switchboard_apis::{ApiState, Apis};
use switchboard_mcp_client::{Server, ServerFailure, ServerState, Servers};
use switchboard_toolcall::{BoxFuture, HumanDuration};
use switchboard_voice::ToolServers;
use switchboard_workers::Groups;
use tokio::{sync::OnceCell, time::timeout};

use super::{Connections, WORKERS_KNOWN};
use crate::{
    interrupt::unless_interrupted,
    terminal::{self, spinner},
};

impl Connections {
    /// Waits until every server that was started is connected or has failed, at most for `[mcp] startup_wait`; then says on
    /// stderr which servers are missing. Shows the spinner if people watch.
    pub(crate) async fn wait_until_ready(&self, is_watched: bool) {
        let work = async {
            let limit = self.startup_wait;
            let apis = timeout(limit, self.apis.wait_until_ready());
            let (missing, groups, _) = tokio::join!(
                self.servers.wait_until_ready_within(limit),
                self.wait_for_groups(),
                apis
            );
            if let Err(error) = groups {
                tracing::warn!("tools of workers are missing: {error}");
            }
            self.failures_reported().await;
            tell_missing(&missing, &self.apis, limit);
        };
        if is_watched { spinner::watch(|| self.waiting(), work).await } else { work.await }
    }

    /// As [`wait_until_ready`](Self::wait_until_ready), unless somebody presses Ctrl-C.
    ///
    /// # Errors
    /// [`Interrupted`](crate::interrupt::Interrupted).
    pub(crate) async fn ready(&self, is_watched: bool) -> anyhow::Result<()> {
        let settled = async {
            self.wait_until_ready(is_watched).await;
            Ok(())
        };
        unless_interrupted(settled).await
    }

    /// Waits until it is known which workers there are, at most for `WORKERS_KNOWN`.
    ///
    /// # Errors
    /// That could not be found out.
    pub(crate) async fn wait_for_groups(&self) -> Result<(), switchboard_workers::Error> {
        match &self.groups {
            Some(groups) => groups.wait_until_ready(WORKERS_KNOWN).await,
            None => Ok(()),
        }
    }

    /// Returns how long to wait for servers that are connecting.
    pub(crate) fn startup_wait(&self) -> Duration {
        self.startup_wait
    }

    /// Returns the servers that each question to `voice` waits for.
    pub(crate) fn voice_servers(&self) -> Arc<dyn ToolServers> {
        Arc::new(VoiceServers {
            servers: self.servers.clone(),
            apis: self.apis.clone(),
            groups: self.groups.clone(),
            groups_known: OnceCell::new(),
            limit: self.startup_wait,
        })
    }

    /// Waits until every failure is reported: a server's state is `Failed` a moment before its failure is reported.
    async fn failures_reported(&self) {
        let has_failed = |server: &Arc<Server>| matches!(server.state(), ServerState::Failed(_));
        for server in self.all().into_iter().filter(has_failed) {
            let name = &**server.name();
            let is_announced = |failures: &Vec<ServerFailure>| {
                failures.iter().any(|failure| failure.server == name)
            };
            // Cannot fail: the sender is a field of `self`.
            let _ = self.announced_failures.subscribe().wait_for(is_announced).await;
        }
    }

    /// What the spinner says while servers are waited for.
    pub(crate) fn waiting(&self) -> String {
        let all = self.all();
        let away = all.iter().filter(|server| matches!(server.state(), ServerState::Connecting));
        let apis = self.apis();
        let loading = apis.iter().filter(|api| api.state() == ApiState::Loading);
        let away = away.map(|server| &**server.name());
        let away: Vec<_> = away.chain(loading.map(|api| &**api.name())).collect();
        match &away[..] {
            [] => "looking for workers…".to_owned(),
            [one] => format!("connecting to {one}…"),
            some => {
                let text = format!("connecting to {} servers: {}…", some.len(), some.join(", "));
                // A line that wraps cannot be erased again.
                terminal::text::shorten(&text, terminal::width().saturating_sub(12))
            }
        }
    }
}

/// Says on stderr which servers and APIs the command no longer waits for.
fn tell_missing(missing: &[Arc<Server>], apis: &Apis, limit: Duration) {
    let apis = apis.all();
    let loading = apis.iter().filter(|api| api.state() == ApiState::Loading);
    let names = missing.iter().map(|server| &**server.name());
    let names: Vec<_> = names.chain(loading.map(|api| &**api.name())).collect();
    if names.is_empty() {
        return;
    }
    let (names, limit) = (terminal::text::one_line(&names.join(", ")), HumanDuration(limit));
    terminal::tell(&format!(
        "⚠️ Continuing without {names}: not connected within {limit} (`[mcp] startup_wait`)"
    ));
}

/// The servers that a question to `voice` waits for.
struct VoiceServers {
    servers: Arc<Servers>,
    apis: Arc<Apis>,
    groups: Option<Arc<Groups>>,
    /// Set once the workers have been looked for, whether or not that succeeded.
    groups_known: OnceCell<()>,
    limit: Duration,
}

impl ToolServers for VoiceServers {
    fn connecting(&self) -> Vec<String> {
        let servers = self.servers.connecting(self.limit);
        let apis = self.apis.all().into_iter().filter(|api| api.state() == ApiState::Loading);
        let names = servers.iter().map(|server| server.name().to_string());
        names.chain(apis.map(|api| api.name().to_string())).collect()
    }

    fn wait_until_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let has_waited = !self.connecting().is_empty();
            let groups = self.groups_known.get_or_init(|| async {
                if let Some(groups) = &self.groups
                    && let Err(error) = groups.wait_until_ready(WORKERS_KNOWN).await
                {
                    tracing::warn!("tools of workers are missing: {error}");
                }
            });
            let apis = timeout(self.limit, self.apis.wait_until_ready());
            let (missing, (), _) = tokio::join!(
                self.servers.wait_until_ready_within(self.limit),
                async { _ = groups.await },
                apis
            );
            // A server is reported once, not again at each question.
            if has_waited {
                tell_missing(&missing, &self.apis, self.limit);
            }
        })
    }
}
