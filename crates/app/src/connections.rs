//! Connections to servers: starts only those that a command needs, and stops all of them (SPEC TL-6, MC-7).

mod configs;
mod needs;
mod questions;
mod waiting;

use std::{sync::Arc, time::Duration};

use switchboard_apis::{Api, Apis};
use switchboard_mcp_client::{
    KnownProtocols, OauthDeps, Server, ServerDeps, ServerFailure, Servers,
};
use switchboard_process::guard::ProcessGuard;
use switchboard_runtime::{ServerSettings, ToolExecutor, ToolManager};
use switchboard_workers::{Groups, JobQueue};
use tokio::{signal, sync::watch};

use crate::{
    assembly::App,
    environment, lock_watch,
    runtime::on_runtime,
    sandboxes,
    settings::LoadedConfig,
    shipping::RecordShipper,
    sign_ins,
    terminal::{self, text},
};

pub(crate) use needs::Needs;

/// How long to wait until it is known which workers are there.
const WORKERS_KNOWN: Duration = Duration::from_secs(5);

/// The servers and APIs of the config, of which only the needed ones run, and the workers of its cluster.
pub(crate) struct Connections {
    servers: Arc<Servers>,
    apis: Arc<Apis>,
    /// The groups of workers, if there is a cluster and the command needs them.
    groups: Option<Arc<Groups>>,
    /// The failures of servers that were announced to the user.
    announced_failures: watch::Sender<Vec<ServerFailure>>,
    /// How long to wait for servers that are connecting.
    startup_wait: Duration,
    /// Ships records to where the config says.
    shipper: RecordShipper,
}

impl App {
    /// Registers all servers and starts those that are needed. Does not wait for them.
    ///
    /// # Errors
    /// The settings of a server or of the cluster are invalid, or a server's `${input:…}` was not answered.
    pub(crate) async fn connect(
        &self,
        loaded: &LoadedConfig,
        needs: Needs<'_>,
    ) -> anyhow::Result<Connections> {
        lock_watch::load(self, loaded)?;
        let announced_failures = watch::Sender::default();
        let oauth = sign_ins::for_servers(loaded, &self.cluster, needs).await?;
        let deps = self.server_deps(loaded, needs, oauth, &announced_failures);
        let configs = self.configs(loaded, needs)?;
        let cluster = match needs.includes_groups() {
            true => self.cluster.get(loaded).await?,
            false => None,
        };
        let servers = Arc::new(Servers::start(configs, self.executor.tools(), &deps)?);
        let (apis, skipped) = (&loaded.settings.apis, &loaded.skipped.apis);
        let is_needed = |name: &str| needs.includes(name);
        let (tools, oauth) = (self.executor.tools(), deps.oauth.clone());
        let apis = Arc::new(Apis::start(apis, skipped, tools, oauth, is_needed)?);
        let groups = match cluster {
            Some(cluster) => Some(Arc::new(Groups::start(cluster, self.executor.tools()).await?)),
            None => None,
        };
        let startup_wait = loaded.settings.mcp.startup_wait.0;
        let shipper = RecordShipper::default();
        Ok(Connections { servers, apis, groups, announced_failures, startup_wait, shipper })
    }

    fn server_deps(
        &self,
        loaded: &LoadedConfig,
        needs: Needs<'_>,
        oauth: Option<OauthDeps>,
        announced: &watch::Sender<Vec<ServerFailure>>,
    ) -> ServerDeps {
        let tools = Arc::downgrade(self.executor.tools());
        let (for_blocks, announced, is_quiet) = (tools.clone(), announced.clone(), self.is_quiet);
        let announce = move |failure: &ServerFailure| {
            if let Some(tools) = for_blocks.upgrade().filter(|_| !is_quiet) {
                terminal::tell(&text::lines(&block(failure, &tools)));
            }
            announced.send_modify(|failures| failures.push(failure.clone()));
        };
        // Without a guard, children still end with this process, unless it is killed with -9.
        let guard = ProcessGuard::this_program()
            .inspect_err(|error| tracing::warn!(%error, "servers run without a guard"));
        ServerDeps {
            tools,
            mcp: loaded.settings.mcp.clone(),
            answers: self.answers.clone(),
            announce: Arc::new(announce),
            guard: guard.ok(),
            sandbox: sandboxes::deps(loaded),
            protocols: Arc::new(known_protocols()),
            locks: self.locks.clone(),
            oauth,
            retries_permanent: needs.runs_on(),
        }
    }
}

/// Returns the protocol versions that servers spoke before; empty if there is no state folder.
fn known_protocols() -> KnownProtocols {
    let file = environment::state_home().map(|folder| folder.join("protocols.json"));
    file.map(KnownProtocols::load).unwrap_or_default()
}

/// The text about a failed server, with the tools and servers that remain (SPEC §12).
fn block(failure: &ServerFailure, tools: &ToolManager) -> String {
    let all = tools.listed();
    let local = all.iter().filter(|tool| tool.spec().server().is_none());
    let local: Vec<_> = local.map(|tool| tool.name().to_string()).collect();
    let is_up = |link: &dyn switchboard_runtime::ServerLink| link.status()["state"] == "ready";
    let servers = tools.servers().into_iter();
    let servers = servers.filter(|server| server.link.as_deref().is_some_and(is_up));
    failure.block(&local, &servers.map(|server| server.name.to_string()).collect::<Vec<_>>())
}

impl Connections {
    /// All servers that are used, in the order of the config.
    pub(crate) fn all(&self) -> Vec<Arc<Server>> {
        self.servers.all()
    }

    /// Replaces the servers by those of a new config once `commit` has accepted their settings. Servers whose settings have
    /// not changed stay connected.
    ///
    /// # Errors
    /// The settings of a server are invalid, or `commit` refuses; then nothing changes.
    pub(crate) fn exchange(
        &self,
        app: &App,
        loaded: &LoadedConfig,
        commit: impl FnOnce(Vec<(Arc<str>, ServerSettings)>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let exchange = self.servers.prepare(app.configs(loaded, Needs::AsSet)?)?;
        let apis = self.apis.prepare(&loaded.settings.apis, &loaded.skipped.apis);
        let mut servers = exchange.settings();
        servers.extend(apis.settings());
        for (name, group) in self.groups.iter().flat_map(|groups| groups.settings()) {
            // If a server and a group have the same name, the server wins.
            if !servers.iter().any(|(server, _)| *server == name) {
                servers.push((name, group));
            }
        }
        commit(servers)?;
        self.servers.exchange(exchange);
        self.apis.exchange(apis);
        Ok(())
    }

    /// Returns the APIs themselves.
    pub(crate) fn all_apis(&self) -> &Arc<Apis> {
        &self.apis
    }

    /// Returns the APIs, in the order of the config.
    pub(crate) fn apis(&self) -> Vec<Arc<Api>> {
        self.apis.all()
    }

    /// Returns the servers themselves.
    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Returns what ships records.
    pub(crate) fn shipper(&self) -> &RecordShipper {
        &self.shipper
    }

    /// Returns the groups of workers; `None` without a cluster.
    pub(crate) fn groups(&self) -> Option<&Arc<Groups>> {
        self.groups.as_ref()
    }

    /// Returns the queue of calls that outlive their caller; `None` without a cluster.
    pub(crate) fn queue(&self, executor: &ToolExecutor) -> Option<JobQueue> {
        let jobs = self.groups.as_ref()?.jobs().clone();
        Some(JobQueue::new(jobs, executor.clone()))
    }

    /// Returns the failure of a server that has failed.
    pub(crate) fn last_failure(&self, server: &str) -> Option<ServerFailure> {
        self.announced_failures
            .borrow()
            .iter()
            .rev()
            .find(|failure| failure.server == server)
            .cloned()
    }

    /// Stops all servers; after a Ctrl-C, their guards stop the rest.
    async fn close(&self) {
        let groups = async {
            if let Some(groups) = &self.groups {
                groups.close().await;
            }
        };
        tokio::select! {
            _ = async { tokio::join!(self.servers.close(), self.apis.close(), groups) } => {}
            _ = signal::ctrl_c() => {}
        }
    }
}

/// Does `work` while the servers it needs run, and stops them whether or not it succeeds.
///
/// # Errors
/// As `work`; or the servers cannot be started.
pub(crate) fn with_servers<T>(
    app: &App,
    loaded: &LoadedConfig,
    needs: Needs<'_>,
    work: impl AsyncFnOnce(&Connections) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    on_runtime(while_connected(app, loaded, needs, work))
}

/// As [`with_servers`], on the current runtime.
///
/// # Errors
/// As [`with_servers`].
pub(crate) async fn while_connected<T>(
    app: &App,
    loaded: &LoadedConfig,
    needs: Needs<'_>,
    work: impl AsyncFnOnce(&Connections) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let shipper = RecordShipper::start(loaded, &app.cluster).await?;
    let mut connections = app.connect(loaded, needs).await?;
    connections.shipper = shipper;
    let outcome = tokio::select! {
        outcome = work(&connections) => outcome,
        () = lock_watch::follow(app, &connections) => unreachable!("the lock is watched without an end"),
    };
    connections.close().await;
    connections.shipper.finish().await;
    outcome
}
