//! A changed config, or SIGHUP, applies while calls run; a broken one is refused and the old one stays.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{cli::Cli, connections::Connections, house::House, rehearsal, settings::Loaded};

/// How often the file is looked at.
const OFTEN: Duration = Duration::from_secs(1);

/// Applies the config again whenever it changes. Ends only when dropped.
///
/// # Errors
/// Signals cannot be listened for.
pub(super) async fn follow(
    house: &House,
    connections: &Connections,
    cli: &Cli,
    loaded: &Loaded,
) -> anyhow::Result<()> {
    if loaded.replay.is_some() {
        // What was recorded does not change.
        return std::future::pending().await;
    }
    let mut hang_up = signal(SignalKind::hangup()).context("failed to listen for signals")?;
    let file = loaded.file.as_deref();
    let mut seen = stamp(file);
    loop {
        tokio::select! {
            _ = hang_up.recv() => {}
            () = changed(file, seen) => {}
        }
        seen = stamp(file);
        match apply(house, connections, cli) {
            Ok(applied) => tracing::info!("the config applies as it is now: {applied}"),
            Err(error) => tracing::error!("the config stays as it was: {error:#}"),
        }
    }
}

fn apply(house: &House, connections: &Connections, cli: &Cli) -> anyhow::Result<String> {
    let loaded = rehearsal::load(cli)?;
    house.reload(&loaded, connections)?;
    let tools = house.executor.tools();
    let servers = tools.servers().len();
    Ok(format!("{} tools, {servers} servers", tools.all().len()))
}

/// When the file was written, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(file: Option<&Path>) -> Stamp {
    let data = fs::metadata(file?).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Waits until the file is another one, and has stayed so for a moment: an editor may still be writing.
async fn changed(file: Option<&Path>, seen: Stamp) {
    loop {
        sleep(OFTEN).await;
        let now = stamp(file);
        if now.is_some() && now != seen {
            sleep(OFTEN / 10).await;
            if stamp(file) == now {
                return;
            }
        }
    }
}
