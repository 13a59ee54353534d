//! Ships a store's journal to a destination, in the background, so that calls never wait for it.

mod progress;

use std::time::Duration;

use switchboard_toolcall::{BoxError, BoxFuture, CancellationToken};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{sleep, timeout},
};
use tracing::{debug, info, warn};

use super::{CallUpdate, ExportTarget, JournalExport, StoreNode};
use crate::{
    error::{Error, chain},
    key::StoreFolder,
};

pub use progress::ShippingProgress;

/// How many lines are sent before the destination must acknowledge them.
const BATCH: usize = 256;
/// How often the journal is checked for new lines.
const LOOK: Duration = Duration::from_millis(200);
/// Journals of dead processes are repaired once in this many checks.
const REPAIR: u32 = 10;
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// Where a journal is shipped to.
pub trait RecordDestination: Send + Sync + 'static {
    /// Returns which cursor says how far it was shipped there.
    fn target(&self) -> ExportTarget;

    /// Returns its name, for logs.
    fn name(&self) -> String;

    /// Prepares to receive the records of a node, as soon as that is possible. Does not wait for what is out of reach once
    /// `stop` is cancelled. What it returns is held as long as records are sent.
    ///
    /// # Errors
    /// It cannot receive them; that is tried again.
    fn open<'a>(
        &'a self,
        node: &'a StoreNode,
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<dyn Send>, BoxError>>;

    /// Sends updates; returns when they are safe there. The same ones may be sent again.
    ///
    /// # Errors
    /// Some are not safe there; all are sent again.
    fn send<'a>(&'a self, updates: &'a [CallUpdate]) -> BoxFuture<'a, Result<(), BoxError>>;
}

/// Ships in the background, until it is dropped or finished.
pub struct ShippingTask {
    progress: ShippingProgress,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl ShippingTask {
    /// Starts to ship the store in `folder`.
    pub fn start(destination: impl RecordDestination, folder: impl Into<StoreFolder>) -> Self {
        let folder = folder.into();
        let (progress, stop) = (ShippingProgress::default(), CancellationToken::new());
        let shipper = Shipper { destination, folder, progress: progress.clone() };
        let task = tokio::spawn(shipper.run(stop.clone()));
        Self { progress, stop, task }
    }

    /// Returns the progress.
    pub fn progress(&self) -> &ShippingProgress {
        &self.progress
    }

    /// Ships the rest, for at most `within`, and ends. The next process ships what is left.
    pub async fn finish(mut self, within: Duration) {
        self.stop.cancel();
        if timeout(within, &mut self.task).await.is_err() {
            debug!("the last records stay in the journal until the next process ships them");
        }
    }
}

impl Drop for ShippingTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ships the store in `folder` once, for a process that is about to end: does not wait for a destination that is away. Does
/// nothing if another process ships the store.
///
/// # Errors
/// The destination refuses it, or the store cannot be read.
pub async fn ship_once(
    destination: impl RecordDestination,
    folder: impl Into<StoreFolder>,
) -> Result<(), BoxError> {
    let progress = ShippingProgress::default();
    let shipper = Shipper { destination, folder: folder.into(), progress };
    let stop = CancellationToken::new();
    stop.cancel();
    shipper.ship(&stop).await
}

struct Shipper<D> {
    destination: D,
    folder: StoreFolder,
    progress: ShippingProgress,
}

impl<D: RecordDestination> Shipper<D> {
    async fn run(self, stop: CancellationToken) {
        let mut pause = PAUSES.0;
        let mut was_well = true;
        // The last round ships everything that was written before it.
        loop {
            let is_last = stop.is_cancelled();
            let shipped = self.progress.shipped();
            match self.ship(&stop).await {
                Ok(()) if is_last || stop.is_cancelled() => return,
                Ok(()) => (pause, was_well) = (PAUSES.0, true),
                Err(error) => {
                    self.progress.failed();
                    // It was there in between, so this is news.
                    if self.progress.shipped() > shipped {
                        (pause, was_well) = (PAUSES.0, true);
                    }
                    // Logged once, not every few seconds.
                    if was_well {
                        let (to, cause) = (self.destination.name(), chain(&*error));
                        warn!(
                            cause,
                            "records cannot be shipped to {to}; they stay in the journal until they can"
                        );
                    }
                    was_well = false;
                    if is_last {
                        return;
                    }
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.cancelled() => {}
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Ships until it is stopped, and then the rest.
    async fn ship(&self, stop: &CancellationToken) -> Result<(), BoxError> {
        let mut export = loop {
            match self.open().await? {
                Some(export) => break export,
                // Another process ships this store, and may end before us; or there is no store yet.
                None if stop.is_cancelled() => return Ok(()),
                None => look_again(stop).await,
            }
        };
        let _open = self.destination.open(export.node(), stop).await?;
        info!(node = %export.node().id, "ships records to {}", self.destination.name());
        self.progress.set_node(Some(export.node().clone()));
        let mut looks = 0;
        loop {
            let is_last = stop.is_cancelled();
            let (next, has_more) = self.batch(export).await?;
            export = next;
            match (has_more, is_last) {
                (true, _) => {}
                (false, true) => return Ok(()),
                (false, false) => look_again(stop).await,
            }
            looks += 1;
            if looks % REPAIR == 0 {
                export = blocking(move || export.repair().map(|()| export)).await?;
            }
        }
    }

    async fn open(&self) -> Result<Option<JournalExport>, BoxError> {
        let (folder, target) = (self.folder.clone(), self.destination.target());
        blocking(move || JournalExport::open(folder, target)).await
    }

    /// Ships the next lines. Returns the export, and whether there were any lines. After a failure the export is dropped: the
    /// next one begins after the last success.
    async fn batch(&self, mut export: JournalExport) -> Result<(JournalExport, bool), BoxError> {
        let read = move || {
            let before = export.lag_bytes()?;
            let updates = export.next(BATCH)?;
            Ok((before, export.lag_bytes()?, updates, export))
        };
        let (before, behind, updates, export) = blocking(read).await?;
        if updates.is_empty() {
            self.progress.set_behind(behind);
            return Ok((export, false));
        }
        self.progress.set_behind(before);
        self.destination.send(&updates).await?;
        let export = blocking(move || export.commit().map(|()| export)).await?;
        self.progress.set_behind(behind);
        self.progress.add_shipped(updates.len());
        Ok((export, true))
    }
}

async fn look_again(stop: &CancellationToken) {
    tokio::select! {
        () = sleep(LOOK) => {}
        () = stop.cancelled() => {}
    }
}

/// Runs file operations off the threads that run calls.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, BoxError> {
    Ok(spawn_blocking(work).await??)
}

#[cfg(test)]
mod tests;
