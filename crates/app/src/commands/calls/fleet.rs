//! The calls of all nodes, if the config names a cluster.

use std::{cell::Cell, time::Duration};

use anyhow::{anyhow, bail};
use switchboard_audit::{CallDetail, Filter, Record, StoreNode};
use switchboard_cluster::records::{Follow, Reading, Records};
use switchboard_workers::Error;

use super::failed;
use crate::{
    cluster,
    interrupt::unless_interrupted,
    runtime::on_runtime,
    settings::Loaded,
    terminal::is_watched,
    terminal::{CommandFailed, spinner, text},
};

/// How long servers may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much of a node's id tells it from others on its machine.
const DIGITS: usize = 4;

/// The calls that pass, newest first.
pub(super) fn list(filter: &Filter, loaded: &Loaded, json: bool) -> anyhow::Result<Vec<Record>> {
    let passes = filter.matcher().map_err(failed)?;
    let reading = Cell::new(None);
    on_runtime(watched(json, &reading, async {
        let records = open(loaded).await?;
        let watch = |now: Reading| reading.set(Some(now));
        records.list(filter, passes, watch).await.map_err(refused)
    }))
}

/// All about the calls whose ids begin so.
pub(super) fn show(
    beginning: &str,
    most: usize,
    loaded: &Loaded,
    json: bool,
) -> anyhow::Result<Vec<CallDetail>> {
    on_runtime(watched(json, &Cell::new(None), async {
        open(loaded).await?.show(beginning, most).await.map_err(refused)
    }))
}

/// Follows what ends from now on.
pub(super) async fn follow(loaded: &Loaded) -> anyhow::Result<Follow> {
    open(loaded).await?.follow().await.map_err(refused)
}

/// A node in a few letters: its machine, and the end of its id.
pub(super) fn short(node: &StoreNode) -> String {
    let end = node.id.len().saturating_sub(DIGITS);
    format!("{}/{}", text::shorten(&node.host, 16), node.id.get(end..).unwrap_or_default())
}

async fn open(loaded: &Loaded) -> anyhow::Result<Records> {
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

/// Does `work`, with how far it is if people watch.
async fn watched<T>(
    json: bool,
    reading: &Cell<Option<Reading>>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let label = || match reading.get() {
        Some(Reading { read, all }) => format!("reading records: {read} of {all}…"),
        None => "asking the cluster…".to_owned(),
    };
    let work = unless_interrupted(work);
    if is_watched(json) { spinner::watch(label, work).await } else { work.await }
}
