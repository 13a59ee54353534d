//! The lock file of the config: loaded with it, and followed while servers run (SPEC LK-2).

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use anyhow::Context;
use switchboard_lock::{LockMode, LockStore};
use tokio::time::sleep;

use crate::{assembly::App, connections::Connections, settings::LoadedConfig};

/// How often the file is checked.
const OFTEN: Duration = Duration::from_millis(200);

/// Loads the lock file beside the config. Returns whether anything has changed.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn load(app: &App, loaded: &LoadedConfig) -> anyhow::Result<bool> {
    // The gateway whose tools these are has compared them; recorded calls have no server.
    let is_none = app.ignores_lock || loaded.is_attached || loaded.replay.is_some();
    let is_none = is_none || is_off(loaded);
    let Some(config) = loaded.file.as_deref().filter(|_| !is_none) else {
        app.locks.disable();
        return Ok(false);
    };
    let store = LockStore::beside(config);
    app.locks.load(store, loaded.settings.lock.mode).context("the lock cannot be used")
}

/// Whether the config switches the lock off for all servers, so that its file need not even be readable.
pub(crate) fn is_off(loaded: &LoadedConfig) -> bool {
    let is_off = |mode: Option<LockMode>| mode == Some(LockMode::Off);
    let mut servers = loaded.settings.servers.values();
    is_off(loaded.settings.lock.mode)
        && servers.all(|server| server.lock.is_none() || is_off(server.lock))
}

/// Applies the lock again whenever its file changes. Never returns.
pub(crate) async fn follow(app: &App, connections: &Connections) {
    let stamp_now = || app.locks.store().and_then(|store| stamp(store.file()));
    // The file may have changed since it was loaded, so it is read once more.
    let mut seen = None;
    loop {
        sleep(OFTEN).await;
        let now = stamp_now();
        if seen == Some(now) {
            continue;
        }
        seen = Some(now);
        match app.locks.reload() {
            Ok(true) => connections.all().iter().for_each(|server| server.lock_changed()),
            Ok(false) => {}
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::error!("the lock stays as it was, and applies: {error:#}");
            }
        }
    }
}

/// What changes when a file is replaced or written to.
type LockStamp = (u64, i64, i64, u64);

fn stamp(file: &Path) -> Option<LockStamp> {
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.mtime(), data.mtime_nsec(), data.len()))
}
