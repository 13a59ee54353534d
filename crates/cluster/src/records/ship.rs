//! Ships a node's journal to the stream, in the background, so that calls never wait for it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_nats::{HeaderMap, header::NATS_MESSAGE_ID, jetstream::message::PublishMessage};
use futures_util::future::try_join_all;
use switchboard_audit::{CallUpdate, JournalExport, StoreFolder, StoreNode};
use switchboard_toolcall::BoxError;
use switchboard_workers::{Cluster, Error};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{answers::AnsweringTask, make, subject};

/// How many lines are sent before the servers must acknowledge them.
const BATCH: usize = 256;
/// How often the journal is checked for new lines.
const LOOK: Duration = Duration::from_millis(200);
/// How often a process that is about to end checks the connection.
const SOON: Duration = Duration::from_millis(5);
/// Journals of dead processes are repaired once in this many checks.
const REPAIR: u32 = 10;
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// How large a message may be, even if the servers accept larger ones.
const LARGEST: usize = 256 << 10;

/// Ships in the background, until it is dropped or finished.
pub struct ShippingTask {
    progress: ShippingProgress,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The progress of shipping. Cheap to clone.
#[derive(Clone, Default)]
pub struct ShippingProgress(Arc<ShippingFigures>);

#[derive(Default)]
struct ShippingFigures {
    shipped: AtomicU64,
    failures: AtomicU64,
    behind: AtomicU64,
    node: Mutex<Option<StoreNode>>,
}

impl ShippingProgress {
    /// Returns how many lines of this process the servers have acknowledged.
    pub fn shipped(&self) -> u64 {
        self.0.shipped.load(Ordering::Relaxed)
    }

    /// Returns how many attempts to ship failed and were repeated.
    pub fn failures(&self) -> u64 {
        self.0.failures.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of the journal are still to be shipped.
    pub fn behind(&self) -> u64 {
        self.0.behind.load(Ordering::Relaxed)
    }

    /// Returns the node that ships; `None` if another process ships this store.
    pub fn node(&self) -> Option<StoreNode> {
        self.0.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_node(&self, node: Option<StoreNode>) {
        *self.0.node.lock().unwrap_or_else(PoisonError::into_inner) = node;
    }
}

impl ShippingTask {
    /// Starts to ship the store in `folder`; messages older than `max_age` leave the stream.
    pub fn start(cluster: Cluster, folder: impl Into<StoreFolder>, max_age: Duration) -> Self {
        let folder = folder.into();
        let (progress, stop) = (ShippingProgress::default(), CancellationToken::new());
        let shipper = Shipper { cluster, folder, max_age, progress: progress.clone() };
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

/// Ships the store in `folder` once, for a process that is about to end: does not wait for servers that are away. Does nothing
/// if another process ships the store.
///
/// # Errors
/// Fails if the servers refuse it, or the store cannot be read.
pub async fn ship_once(
    cluster: Cluster,
    folder: impl Into<StoreFolder>,
    max_age: Duration,
) -> Result<(), BoxError> {
    let (folder, progress) = (folder.into(), ShippingProgress::default());
    let shipper = Shipper { cluster, folder, max_age, progress };
    let Some(mut export) = shipper.open().await? else { return Ok(()) };
    make(&shipper.cluster, max_age).await?;
    loop {
        let (next, has_more) = shipper.batch(export).await?;
        if !has_more {
            return Ok(());
        }
        export = next;
    }
}

struct Shipper {
    cluster: Cluster,
    folder: StoreFolder,
    max_age: Duration,
    progress: ShippingProgress,
}

impl Shipper {
    async fn run(self, stop: CancellationToken) {
        let (mut pause, mut was_well) = (PAUSES.0, true);
        // The last round ships everything that was written before it.
        loop {
            let is_last = stop.is_cancelled();
            match self.ship(&stop).await {
                Ok(()) if is_last || stop.is_cancelled() => return,
                Ok(()) => (pause, was_well) = (PAUSES.0, true),
                Err(error) => {
                    self.progress.0.failures.fetch_add(1, Ordering::Relaxed);
                    self.progress.set_node(None);
                    // Logged once, not every few seconds.
                    if was_well {
                        let cause = chain(&*error);
                        warn!(
                            cause,
                            "records cannot be shipped; they stay in the journal until they can"
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
                None => self.look_again(stop).await,
            }
        };
        self.connected(stop).await?;
        make(&self.cluster, self.max_age).await?;
        info!(node = %export.node().id, "ships records to the cluster");
        self.progress.set_node(Some(export.node().clone()));
        // Who ships a store is the one process that answers for it.
        let _answers =
            AnsweringTask::start(&self.cluster, self.folder.clone(), export.node().clone()).await?;
        let mut looks = 0;
        loop {
            let is_last = stop.is_cancelled();
            let (next, has_more) = self.batch(export).await?;
            export = next;
            match (has_more, is_last) {
                (true, _) => {}
                (false, true) => return Ok(()),
                (false, false) => self.look_again(stop).await,
            }
            looks += 1;
            if looks % REPAIR == 0 {
                export = blocking(move || export.repair().map(|()| export)).await?;
            }
        }
    }

    async fn look_again(&self, stop: &CancellationToken) {
        tokio::select! {
            () = sleep(LOOK) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn open(&self) -> Result<Option<JournalExport>, BoxError> {
        let folder = self.folder.clone();
        blocking(move || JournalExport::open(folder)).await
    }

    /// Waits until NATS is connected: nothing is sent without a connection. A process that is about to end does not wait if the
    /// connection is known to have failed.
    async fn connected(&self, stop: &CancellationToken) -> Result<(), BoxError> {
        while !self.cluster.is_connected() {
            if stop.is_cancelled() && self.cluster.problem().is_some() {
                return Err(format!("NATS at {} is away", self.cluster.address()).into());
            }
            match stop.is_cancelled() {
                true => sleep(SOON).await,
                false => self.look_again(stop).await,
            }
        }
        Ok(())
    }

    /// Ships the next lines. Returns the export, and whether there were any lines. After a failure the export is dropped: the
    /// next one begins after the last success.
    async fn batch(&self, mut export: JournalExport) -> Result<(JournalExport, bool), BoxError> {
        let read = move || {
            let before = export.lag_bytes()?;
            let told = export.next(BATCH)?;
            Ok((before, export.lag_bytes()?, told, export))
        };
        let (before, behind, told, export) = blocking(read).await?;
        if told.is_empty() {
            self.progress.0.behind.store(behind, Ordering::Relaxed);
            return Ok((export, false));
        }
        self.progress.0.behind.store(before, Ordering::Relaxed);
        self.publish(&told).await?;
        let export = blocking(move || export.commit().map(|()| export)).await?;
        self.progress.0.behind.store(behind, Ordering::Relaxed);
        self.progress.0.shipped.fetch_add(told.len() as u64, Ordering::Relaxed);
        Ok((export, true))
    }

    /// Sends all updates, and waits until the servers have acknowledged them.
    async fn publish(&self, told: &[CallUpdate]) -> Result<(), Error> {
        let refused = || Error::refused("take records");
        if !self.cluster.is_connected() {
            return Err(refused()(format!("it is away from {}", self.cluster.address()).into()));
        }
        // Leaves room for the subject and the headers.
        let most = self.cluster.max_payload().saturating_sub(1024).min(LARGEST);
        let mut acknowledged = Vec::with_capacity(told.len());
        for told in told {
            let mut headers = HeaderMap::new();
            let id = format!("{}.{}.{}", told.node.id, told.id, told.stage.as_str());
            headers.insert(NATS_MESSAGE_ID, id);
            let message =
                PublishMessage::build().headers(headers).payload(told.to_json(most).into());
            let subject = subject(&self.cluster, &told.node.id, told.stage);
            let sent = self.cluster.nats()?.jetstream().send_publish(subject, message).await;
            acknowledged.push(sent.map_err(|error| refused()(error.into()))?.into_future());
        }
        try_join_all(acknowledged).await.map_err(|error| refused()(error.into()))?;
        Ok(())
    }
}

/// Runs file operations off the threads that run calls.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, switchboard_audit::Error> + Send + 'static,
) -> Result<T, BoxError> {
    Ok(spawn_blocking(work).await??)
}

/// Formats the error and its causes on one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
