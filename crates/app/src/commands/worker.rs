//! `switchboard worker`: the tools of this machine for gateways elsewhere.

use std::{collections::HashSet, num::NonZeroUsize, process::ExitCode, sync::Arc, thread};

use anyhow::{Context, anyhow, bail};
use serde_json::json;
use switchboard_mcp_wire::server_request::NoRequestHandler;
use switchboard_runtime::{RegisteredTool, services};
use switchboard_toolcall::ToolPatterns;
use switchboard_workers::{OfferFilter, Worker as Offering};

use crate::{
    approvals,
    assembly::{App, Deps},
    cli::{Cli, WorkerArgs},
    cluster::{self, ClusterConnection},
    commands::serve::told_to_stop,
    connections::{Connections, Needs, while_connected},
    overrides,
    records::{self, RecordStores},
    runtime::on_threads,
    settings::LoadedConfig,
    terminal::{self, text},
};

pub(super) fn run(worker: &WorkerArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut loaded = overrides::load(cli)?;
    let settings = &mut loaded.settings;
    (settings.cluster, settings.worker) =
        worker.over(settings.cluster.clone(), settings.worker.clone());
    // As many threads as cores, since the machine is there for the tools, which may compute: with one thread, a call that
    // does would block all others, and the heartbeats. Threads that have nothing to do cost little: a call takes as much
    // processor time on eight as on two (docs/performance.md, "On several threads").
    let threads = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    on_threads(NonZeroUsize::new(threads), async {
        let records = RecordStores::of(&loaded);
        if let Some(store) = &records.store {
            records::start_upkeep(store, &loaded)?;
        }
        let deps = Deps {
            records,
            answers: Arc::new(NoRequestHandler),
            approver: approvals::elsewhere(approvals::queue(&loaded)),
            cluster: ClusterConnection::default(),
            applies_serve_rules: false,
        };
        let app = App::build_with(&loaded, deps)?;
        let choice = choice(&loaded, &app)?;
        let has_some = app.executor.tools().listed().iter().any(|tool| choice(tool));
        if !has_some && loaded.enabled_servers().next().is_none() {
            bail!(
                "there is nothing to offer: define [[tools]] or [servers.*] in the config, or choose built-in tools with --tools"
            );
        }
        let offering = offering(&loaded, &app, choice).await?;
        cluster::warn(&loaded)?;
        let stop = told_to_stop()?;
        while_connected(&app, &loaded, Needs::Servers, async |connections| {
            // Does not wait for slow servers: their tools are offered once they are connected.
            tell(worker, &offering, &loaded, connections)?;
            offering.run(stop).await?;
            Ok(ExitCode::SUCCESS)
        })
        .await
    })
}

async fn offering(
    loaded: &LoadedConfig,
    app: &App,
    choice: OfferFilter,
) -> anyhow::Result<Offering> {
    let worker = &loaded.settings.worker;
    let Some(group) = &worker.group else {
        bail!("which group? Say --group NAME, or set `group` in [worker]");
    };
    let wrong = |error: switchboard_workers::Error| anyhow!("{error}");
    switchboard_workers::check_group(group).map_err(wrong)?;
    let Some(cluster) = app.cluster.get(loaded).await? else {
        bail!("where is NATS? Say --nats nats://HOST:4222, or set `nats` in [cluster]");
    };
    let executor = app.executor.clone();
    Offering::new(cluster, group, worker.concurrency, executor, choice).map_err(wrong)
}

/// Returns which tools are offered: those that the config defines, or those of `worker.tools`. The runtime's own tools
/// are about this process, and are never offered.
fn choice(loaded: &LoadedConfig, app: &App) -> anyhow::Result<OfferFilter> {
    let own: HashSet<String> =
        services::all(&app.executor).iter().map(|tool| tool.spec().name.clone()).collect();
    let defined: HashSet<String> =
        loaded.settings.tools.iter().map(|tool| tool.name.clone()).collect();
    let tools = &loaded.settings.worker.tools;
    let chosen = match tools.is_empty() {
        true => None,
        false => Some(ToolPatterns::new(tools).context("`worker.tools`")?),
    };
    Ok(Arc::new(move |tool: &RegisteredTool| {
        let name = &**tool.name();
        match &chosen {
            Some(chosen) => chosen.matches(name) && (defined.contains(name) || !own.contains(name)),
            None => tool.spec().server().is_some() || defined.contains(name),
        }
    }))
}

/// Says what is offered, and where.
fn tell(
    worker: &WorkerArgs,
    offering: &Offering,
    loaded: &LoadedConfig,
    connections: &Connections,
) -> anyhow::Result<()> {
    let group = loaded.settings.worker.group.as_deref().unwrap_or_default();
    let offer = offering.offer();
    let tools: Vec<_> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
    let nats = offering.cluster().address();
    if worker.json {
        let line = json!({"worker": offering.id(), "group": group, "nats": nats, "tools": tools});
        terminal::print(&line.to_string())?;
        return Ok(());
    }
    let more = match connections.all().len() {
        0 => String::new(),
        1 => ", and those of 1 server when it is connected".to_owned(),
        many => format!(", and those of {many} servers when they are connected"),
    };
    let tools = if tools.is_empty() {
        "no tools yet".to_owned()
    } else {
        text::one_line(&tools.join(", "))
    };
    let group = text::one_line(group);
    terminal::tell(&format!(
        "worker {} of group '{group}' at {nats}\noffers {tools}{more}",
        offering.id()
    ));
    Ok(())
}
