//! Connections to servers: only those that a command needs, and none of them left behind (SPEC TL-6, MC-7).

mod configs;
mod needs;
mod questions;
mod waiting;

use std::{sync::Arc, time::Duration};

use switchboard_mcp_client::{KnownProtocols, Server, ServerDeps, ServerFailure, Servers};
use switchboard_process::guard::ProcessGuard;
use switchboard_runtime::{ServerSettings, ToolExecutor, ToolManager};
use switchboard_workers::{Groups, Queue};
use tokio::{signal, sync::watch};

use crate::{
    assembly::App,
    environment,
    runtime::on_runtime,
    settings::Loaded,
    shipping::RecordShipper,
    terminal::{self, text},
};

pub(crate) use needs::Needs;

/// How long to wait until it is known which workers are there.
const WORKERS_KNOWN: Duration = Duration::from_secs(5);

/// The servers of the config, of which those that are needed run, and the workers of its cluster.
pub(crate) struct Connections {
    servers: Arc<Servers>,
    /// The groups of workers, if there is a cluster and somebody needs them.
    groups: Option<Arc<Groups>>,
    /// What people have been told of servers that were given up.
    given_up: watch::Sender<Vec<ServerFailure>>,
    /// How long servers that are connecting are waited for.
    startup_wait: Duration,
    /// Ships records, if this process is part of a cluster.
    shipper: Option<RecordShipper>,
}

impl App {
    /// Makes all servers known and starts those that are needed. Waits for none.
    ///
    /// # Errors
    /// A server's settings make no sense, or want an answer that nobody gives; or those of the cluster do not.
    pub(crate) async fn connect(
        &self,
        loaded: &Loaded,
        needs: Needs<'_>,
    ) -> anyhow::Result<Connections> {
        let given_up = watch::Sender::default();
        let around = self.surroundings(loaded, needs, &given_up);
        let configs = self.configs(loaded, needs)?;
        let cluster = match needs.includes_groups() {
            true => self.cluster.get(loaded).await?,
            false => None,
        };
        let servers = Arc::new(Servers::start(configs, self.executor.tools(), &around)?);
        let groups = match cluster {
            Some(cluster) => Some(Arc::new(Groups::start(cluster, self.executor.tools()).await?)),
            None => None,
        };
        let startup_wait = loaded.settings.mcp.startup_wait.0;
        Ok(Connections { servers, groups, given_up, startup_wait, shipper: None })
    }

    fn surroundings(
        &self,
        loaded: &Loaded,
        needs: Needs<'_>,
        told: &watch::Sender<Vec<ServerFailure>>,
    ) -> ServerDeps {
        let tools = Arc::downgrade(self.executor.tools());
        let (for_blocks, told, is_quiet) = (tools.clone(), told.clone(), self.is_quiet);
        let announce = move |given_up: &ServerFailure| {
            if let Some(tools) = for_blocks.upgrade().filter(|_| !is_quiet) {
                terminal::tell(&text::lines(&block(given_up, &tools)));
            }
            told.send_modify(|told| told.push(given_up.clone()));
        };
        // Without a guard children still end with us, unless we are killed with -9.
        let guard = ProcessGuard::this_program()
            .inspect_err(|error| tracing::warn!(%error, "servers run without a guard"));
        ServerDeps {
            tools,
            mcp: loaded.settings.mcp.clone(),
            answers: self.answers.clone(),
            announce: Arc::new(announce),
            guard: guard.ok(),
            protocols: Arc::new(known_protocols()),
            retries_permanent: needs.runs_on(),
        }
    }
}

/// Which protocols servers spoke before, as far as there is a folder to remember that in.
fn known_protocols() -> KnownProtocols {
    let file = environment::state_home().map(|folder| folder.join("protocols.json"));
    file.map(KnownProtocols::load).unwrap_or_default()
}

/// What people are told, with the tools and servers that remain (SPEC §12).
fn block(given_up: &ServerFailure, tools: &ToolManager) -> String {
    let all = tools.listed();
    let local = all.iter().filter(|tool| tool.spec().server().is_none());
    let local: Vec<_> = local.map(|tool| tool.name().to_string()).collect();
    let is_up = |link: &dyn switchboard_runtime::Link| link.status()["state"] == "ready";
    let servers = tools.servers().into_iter();
    let servers = servers.filter(|server| server.link.as_deref().is_some_and(is_up));
    given_up.block(&local, &servers.map(|server| server.name.to_string()).collect::<Vec<_>>())
}

impl Connections {
    /// All servers that are used, in the order of the config.
    pub(crate) fn all(&self) -> Vec<Arc<Server>> {
        self.servers.all()
    }

    /// Puts the servers of a new config in the place of the old ones, as soon as `commit` has taken what it has to know
    /// of them. Those whose settings are as they were stay connected.
    ///
    /// # Errors
    /// The settings of a server make no sense, or `commit` refuses; then all is as before.
    pub(crate) fn exchange(
        &self,
        app: &App,
        loaded: &Loaded,
        commit: impl FnOnce(Vec<(Arc<str>, ServerSettings)>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let exchange = self.servers.prepare(app.configs(loaded, Needs::AsSet)?)?;
        let mut servers = exchange.settings();
        for (name, group) in self.groups.iter().flat_map(|groups| groups.settings()) {
            // A server of the config has its name before any group.
            if !servers.iter().any(|(server, _)| *server == name) {
                servers.push((name, group));
            }
        }
        commit(servers)?;
        self.servers.exchange(exchange);
        Ok(())
    }

    /// The servers themselves, for who runs on beside them.
    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Ships records, if this process is part of a cluster.
    pub(crate) fn shipper(&self) -> Option<&RecordShipper> {
        self.shipper.as_ref()
    }

    /// Where calls wait that outlive who asks, if there is a cluster.
    pub(crate) fn queue(&self, executor: &ToolExecutor) -> Option<Queue> {
        let jobs = self.groups.as_ref()?.jobs().clone();
        Some(Queue::new(jobs, executor.clone()))
    }

    /// What is known of a server that was given up.
    pub(crate) fn given_up(&self, server: &str) -> Option<ServerFailure> {
        self.given_up.borrow().iter().rev().find(|given_up| given_up.server == server).cloned()
    }

    /// Ends all servers; a Ctrl-C leaves the rest to their guards.
    async fn close(&self) {
        let groups = async {
            if let Some(groups) = &self.groups {
                groups.close().await;
            }
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(self.servers.close(), groups) } => {}
            _ = signal::ctrl_c() => {}
        }
    }
}

/// Does `work` while the servers it needs run, and ends them whatever comes of it.
///
/// # Errors
/// As `work`; or the servers cannot be started.
pub(crate) fn with_servers<T>(
    app: &App,
    loaded: &Loaded,
    needs: Needs<'_>,
    work: impl AsyncFnOnce(&Connections) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    on_runtime(while_connected(app, loaded, needs, work))
}

/// As [`with_servers`], where a runtime is there already.
///
/// # Errors
/// As [`with_servers`].
pub(crate) async fn while_connected<T>(
    app: &App,
    loaded: &Loaded,
    needs: Needs<'_>,
    work: impl AsyncFnOnce(&Connections) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let shipper = RecordShipper::start(loaded, &app.cluster).await?;
    let mut connections = app.connect(loaded, needs).await?;
    connections.shipper = shipper;
    let outcome = work(&connections).await;
    connections.close().await;
    if let Some(shipper) = connections.shipper {
        shipper.finish().await;
    }
    outcome
}
