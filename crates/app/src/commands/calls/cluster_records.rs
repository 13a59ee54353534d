//! The calls of all nodes, if the config names a cluster.

use std::{cell::Cell, ops::ControlFlow, time::Duration};

use anyhow::{anyhow, bail};
use switchboard_audit::{CallDetail, FigureQuery, Filter, Record, SharedFigures, StoreNode};
use switchboard_cluster::records::{ClusterFollower, ReadProgress, Records};
use switchboard_workers::Error;

use super::failed;
use crate::{
    cluster,
    interrupt::unless_interrupted,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{CommandFailed, spinner, text},
};

/// How long the NATS servers may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much of a node's id tells it from others on its machine.
const DIGITS: usize = 4;

/// Returns the calls that match the filter, newest first.
pub(super) fn list(
    filter: &Filter,
    loaded: &LoadedConfig,
    json: bool,
) -> anyhow::Result<Vec<Record>> {
    let reading = Cell::new(None);
    let watch = |now: ReadProgress| reading.set(Some(now));
    on_runtime(watched(json, &reading, listed(filter, loaded, watch)))
}

/// As [`list`]; reports its progress to `watch`.
pub(super) async fn listed(
    filter: &Filter,
    loaded: &LoadedConfig,
    watch: impl Fn(ReadProgress),
) -> anyhow::Result<Vec<Record>> {
    let passes = filter.matcher().map_err(failed)?;
    open(loaded).await?.list(filter, &passes, watch).await.map_err(refused)
}

/// Calls `take` once with each call that matches, the first to end first and those that still run last, until it breaks.
pub(super) fn each(
    filter: &Filter,
    loaded: &LoadedConfig,
    json: bool,
    take: impl FnMut(CallDetail) -> ControlFlow<()>,
) -> anyhow::Result<()> {
    let reading = Cell::new(None);
    let watch = |now: ReadProgress| reading.set(Some(now));
    let passes = filter.matcher().map_err(failed)?;
    on_runtime(watched(json, &reading, async {
        open(loaded).await?.each(filter, &passes, watch, take).await.map_err(refused)
    }))
}

/// Returns the sums of the calls that match, over all nodes.
pub(super) fn figures(
    filter: Filter,
    loaded: &LoadedConfig,
    json: bool,
) -> anyhow::Result<SharedFigures> {
    let reading = Cell::new(None);
    let watch = |now: ReadProgress| reading.set(Some(now));
    let passes = filter.matcher().map_err(failed)?;
    let query = FigureQuery { filter, window: None };
    on_runtime(watched(json, &reading, async {
        open(loaded).await?.figures(&query, &passes, watch).await.map_err(refused)
    }))
}

/// Checks that the records of the cluster can be read.
pub(super) fn check(loaded: &LoadedConfig) -> anyhow::Result<()> {
    on_runtime(async { open(loaded).await.map(drop) })
}

/// Returns the details of the calls whose ids begin with `beginning`.
pub(super) fn show(
    beginning: &str,
    most: usize,
    loaded: &LoadedConfig,
    json: bool,
) -> anyhow::Result<Vec<CallDetail>> {
    on_runtime(watched(json, &Cell::new(None), async {
        open(loaded).await?.show(beginning, most).await.map_err(refused)
    }))
}

/// Follows the calls that end from now on.
pub(super) async fn follow(loaded: &LoadedConfig) -> anyhow::Result<ClusterFollower> {
    open(loaded).await?.follow().await.map_err(refused)
}

/// A node in a few letters: its machine, and the end of its id.
pub(super) fn short(node: &StoreNode) -> String {
    let end = node.id.len().saturating_sub(DIGITS);
    format!("{}/{}", text::shorten(&node.host, 16), node.id.get(end..).unwrap_or_default())
}

async fn open(loaded: &LoadedConfig) -> anyhow::Result<Records> {
    let Some(cluster) = cluster::connect(loaded).await? else {
        bail!(
            "there is no cluster to ask: the config names none (`[cluster] nats = \"nats://…\"`)"
        );
    };
    cluster.reached(PATIENCE).await.map_err(refused)?;
    Ok(Records::new(cluster))
}

fn refused(error: Error) -> anyhow::Error {
    anyhow!(CommandFailed(format!("{:#}", anyhow!(error))))
}

/// Does `work`, and shows its progress if people watch.
async fn watched<T>(
    json: bool,
    reading: &Cell<Option<ReadProgress>>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let label = || match reading.get() {
        Some(ReadProgress { read, all }) => format!("reading records: {read} of {all}…"),
        None => "asking the cluster…".to_owned(),
    };
    let work = unless_interrupted(work);
    if is_watched(json) { spinner::watch(label, work).await } else { work.await }
}
