//! The lock file of the config: loaded with it, and followed while servers run (SPEC LK-2).

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use anyhow::Context;
use switchboard_lock::LockStore;
use tokio::time::sleep;

use crate::{assembly::App, connections::Connections, settings::Loaded};

/// How often the file is checked.
const OFTEN: Duration = Duration::from_millis(200);

/// Loads the lock file beside the config. Returns whether anything has changed.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn load(app: &App, loaded: &Loaded) -> anyhow::Result<bool> {
    // The gateway whose tools these are has compared them; recorded calls have no server.
    let is_none = app.ignores_lock || loaded.is_attached || loaded.replay.is_some();
    let Some(config) = loaded.file.as_deref().filter(|_| !is_none) else {
        app.locks.disable();
        return Ok(false);
    };
    let store = LockStore::beside(config);
    app.locks.load(store, loaded.settings.lock.mode).context("the lock cannot be used")
}

/// Applies the lock again whenever its file changes. Never returns.
pub(crate) async fn follow(app: &App, connections: &Connections) {
    let stamp_now = || app.locks.store().and_then(|store| stamp(store.file()));
    let mut seen = stamp_now();
    loop {
        sleep(OFTEN).await;
        let now = stamp_now();
        if now == seen {
            continue;
        }
        seen = now;
        match app.locks.reload() {
            Ok(true) => connections.all().iter().for_each(|server| server.lock_changed()),
            Ok(false) => {}
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::error!("the lock stays as it was: {error:#}");
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
