//! Keeps a running call alive in the queue, and stores its progress.

use std::{
    future::{Future, pending},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchboard_toolcall::CancellationToken;
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
    time::{Instant, sleep},
};
use tracing::{debug, warn};

use super::{
    enqueue::within,
    state::{self, JobEntry, JobState},
};
use crate::{
    Cluster, Error,
    transport::{Ack, Delivery},
    wire::ProgressStep,
};

/// How often progress is stored at most.
const PROGRESS: Duration = Duration::from_millis(500);
/// The pause before a failed write is retried.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a result is kept if the servers cannot be reached.
const PATIENCE: Duration = Duration::from_secs(600);

/// The state of a call that this worker owns.
pub(crate) struct OwnedJob {
    cluster: Cluster,
    entry: Mutex<JobEntry>,
    lost: AtomicBool,
}

impl OwnedJob {
    pub(crate) fn new(cluster: Cluster, begun: JobEntry) -> Self {
        Self { cluster, entry: Mutex::new(begun), lost: AtomicBool::new(false) }
    }

    /// Returns whether another worker owns the call now, or it has ended.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Returns the last known state.
    pub(crate) async fn state(&self) -> JobState {
        self.entry.lock().await.kept.clone()
    }

    /// Changes the state. Returns whether this worker still owned the call.
    pub(crate) async fn change(&self, change: impl Fn(&mut JobState)) -> Result<bool, Error> {
        let mut entry = self.entry.lock().await;
        loop {
            let mut wanted = entry.kept.clone();
            change(&mut wanted);
            let update = state::update(&self.cluster, wanted.clone(), entry.revision);
            if let Some(written) = within(update).await? {
                *entry = written;
                return Ok(true);
            }
            let Some(found) = within(state::get(&self.cluster, wanted.call)).await? else {
                self.lost.store(true, Ordering::Release);
                return Ok(false);
            };
            if found.revision == entry.revision {
                // A replica does not have the change yet.
                sleep(PAUSE / 10).await;
                continue;
            }
            let is_written = found.kept.says_the_same(&wanted);
            let is_mine = !found.kept.state.is_over()
                && found.kept.worker == entry.kept.worker
                && found.kept.attempts == entry.kept.attempts;
            *entry = found;
            if is_written {
                // It was written, and only the confirmation was lost.
                return Ok(true);
            }
            if !is_mine {
                self.lost.store(true, Ordering::Release);
                return Ok(false);
            }
        }
    }

    /// Like [`change`](Self::change), with retries while the servers cannot be reached.
    pub(crate) async fn insist(&self, change: impl Fn(&mut JobState)) -> Result<bool, Error> {
        self.insist_on(|| self.change(&change)).await
    }

    /// Retries `work` until it succeeds.
    pub(crate) async fn insist_on<T, F: Future<Output = Result<T, Error>>>(
        &self,
        work: impl Fn() -> F,
    ) -> Result<T, Error> {
        let until = Instant::now() + PATIENCE;
        loop {
            match work().await {
                Err(error) if Instant::now() < until => {
                    warn!(%error, "what came of a queued call is not written down yet: {error}");
                    sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }
}

/// The heartbeat of a running call.
pub(crate) struct Heartbeat {
    pub(crate) mine: Arc<OwnedJob>,
    pub(crate) delivery: Arc<Delivery>,
    pub(crate) every: Duration,
    pub(crate) progress: watch::Receiver<Option<ProgressStep>>,
    /// Fires if the call is cancelled or another worker owns it.
    pub(crate) cancel: CancellationToken,
}

impl Heartbeat {
    /// Starts the heartbeat; it ends when the returned value is dropped.
    pub(crate) fn start(self) -> HeartbeatTask {
        HeartbeatTask(tokio::spawn(async move {
            let Self { mine, delivery, every, progress, cancel } = self;
            // The queue must get heartbeats even while the state cannot be written.
            tokio::join!(hold(&delivery, every), note(&mine, every, progress, &cancel));
        }))
    }
}

/// A running heartbeat; ends when dropped.
pub(crate) struct HeartbeatTask(JoinHandle<()>);

impl Drop for HeartbeatTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn hold(delivery: &Delivery, every: Duration) {
    loop {
        sleep(every).await;
        if let Err(error) = delivery.acks.ack(Ack::Progress).await {
            debug!(%error, "the queue could not be told that a call still runs");
        }
    }
}

async fn note(
    mine: &OwnedJob,
    every: Duration,
    mut progress: watch::Receiver<Option<ProgressStep>>,
    cancel: &CancellationToken,
) {
    loop {
        let reported = tokio::select! {
            () = sleep(every) => false,
            () = reported(&mut progress) => true,
        };
        let step = progress.borrow_and_update().clone();
        let noted = mine.change(|kept| {
            kept.beats += 1;
            kept.only_beats = kept.progress == step;
            if !kept.only_beats {
                kept.progress.clone_from(&step);
                kept.changes();
            }
        });
        match noted.await {
            Ok(true) if mine.state().await.wants_cancel => cancel.cancel(),
            Ok(true) => {}
            Ok(false) => {
                cancel.cancel();
                return;
            }
            Err(error) => debug!(%error, "how a queued call is could not be written down"),
        }
        if reported {
            sleep(PROGRESS).await;
        }
    }
}

async fn reported(progress: &mut watch::Receiver<Option<ProgressStep>>) {
    if progress.changed().await.is_err() {
        // The tool has reported all its progress; the call continues.
        pending().await
    }
}
