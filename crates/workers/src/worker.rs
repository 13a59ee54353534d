//! The worker's side: offers an executor's tools to a group, and runs its calls.
//!
//! `announce.rs` renews the presence and the offer, `listen.rs` receives requests, `calls.rs` runs a call, `worker_calls.rs`
//! tracks running calls, `heartbeat.rs` sends heartbeats.

mod heartbeat;
mod announce;
mod listen;
mod calls;
mod worker_calls;

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use switchboard_runtime::{RegisteredTool, ToolExecutor};
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use ulid::Ulid;

use crate::{
    Cluster, Error, JobRunner,
    offer::{OfferedTool, Presence, WorkerOffer},
    sign::SeenRequests,
};
use listen::WorkerSubscriptions;
use worker_calls::WorkerCalls;

/// How long running calls may take after `stop` (SPEC GW-4).
const DRAINED: Duration = Duration::from_secs(10);

/// How long calls that are then cancelled may take to end.
const ENDED: Duration = Duration::from_secs(3);

/// How long withdrawing the presence may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long it is believed that nobody watches the entries of workers; a gateway says so every 20 s.
const UNWATCHED: Duration = Duration::from_secs(60);

/// Decides which of an executor's tools are offered.
pub type OfferFilter = Arc<dyn Fn(&RegisteredTool) -> bool + Send + Sync>;

/// Offers the tools of an executor to a group, until it is stopped.
pub struct Worker(Arc<WorkerInner>);

/// What all tasks of a worker share.
struct WorkerInner {
    cluster: Cluster,
    group: String,
    id: String,
    executor: ToolExecutor,
    choice: OfferFilter,
    capacity: usize,
    slots: Arc<Semaphore>,
    running: Arc<WorkerCalls>,
    offer: Mutex<Arc<WorkerOffer>>,
    /// Notified when the presence or the offer has changed.
    bell: Notify,
    leaving: AtomicBool,
    /// Set to say again what it is.
    announces_again: AtomicBool,
    /// Until when its entry may be renewed rarely: nobody watches.
    unwatched_until: Mutex<Option<Instant>>,
    /// The subject for responses of gateways.
    inbox: String,
    /// The accepted requests.
    seen: SeenRequests,
    started: u64,
}

impl Worker {
    /// Creates a worker of `group` that runs `capacity` calls at once. Does not announce itself yet.
    ///
    /// # Errors
    /// The group's name is invalid, or `capacity` is 0.
    pub fn new(
        cluster: Cluster,
        group: &str,
        capacity: usize,
        executor: ToolExecutor,
        choice: OfferFilter,
    ) -> Result<Self, Error> {
        check_group(group)?;
        if capacity == 0 || capacity > Semaphore::MAX_PERMITS {
            let reason = format!("nothing could run with {capacity}");
            return Err(Error::Worker { key: "concurrency", reason });
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let shared = WorkerInner {
            inbox: cluster.new_inbox(),
            cluster,
            group: group.to_owned(),
            id: Ulid::generate().to_string(),
            executor,
            choice,
            capacity,
            slots: Arc::new(Semaphore::new(capacity)),
            running: Arc::default(),
            offer: Mutex::new(Arc::new(WorkerOffer { hash: String::new(), tools: Vec::new() })),
            bell: Notify::new(),
            leaving: AtomicBool::new(false),
            announces_again: AtomicBool::new(false),
            unwatched_until: Mutex::default(),
            seen: SeenRequests::default(),
            started: now.as_secs(),
        };
        let offer = shared.look()?;
        *shared.offer.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
        Ok(Self(Arc::new(shared)))
    }

    /// Returns its unique id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    /// Returns what it offers now.
    pub fn offer(&self) -> Arc<WorkerOffer> {
        self.0.offer()
    }

    /// Returns the slots of its calls, for other work in this process.
    pub fn slots(&self) -> &Arc<Semaphore> {
        &self.0.slots
    }

    /// Offers the tools until `stop` fires; then lets running calls finish, cancels those that do not, sends all
    /// replies and withdraws.
    ///
    /// # Errors
    /// The connection was closed, or the cluster has another number of partitions than the config says.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let shared = self.0;
        let mut listening = WorkerSubscriptions::start(&shared).await?;
        let announcing = AbortOnDropHandle::new(tokio::spawn(announce::run(shared.clone())));
        let beating = AbortOnDropHandle::new(tokio::spawn(heartbeat::of_worker(shared.clone())));
        // Durable calls are taken as long as others are, and have as long to end.
        let runner = JobRunner::new(
            shared.cluster.jobs(),
            &shared.group,
            &shared.id,
            shared.executor.clone(),
            shared.choice.clone(),
            shared.slots.clone(),
        );
        let stop = stop.child_token();
        let told = stop.clone();
        let queued = AbortOnDropHandle::new(tokio::spawn(async move {
            runner.run(told, DRAINED).await;
        }));
        let _alive = AbortOnDropHandle::new(tokio::spawn(heartbeat::of_calls(shared.clone())));
        let mut version = shared.executor.tools().version();
        let mut disagreement = pin!(shared.cluster.disagreement());
        let reason = loop {
            shared.offer_anew()?;
            listening.adjust(&shared).await?;
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                error = &mut disagreement => break Err(error),
                changed = version.changed() => if changed.is_err() { break Ok(()) },
            }
        };
        stop.cancel();
        shared.leaving.store(true, Ordering::Release);
        shared.bell.notify_one();
        listening.drain();
        if shared.cluster.is_connected() {
            _ = timeout(ENDED, listening.drained()).await;
        }
        if timeout(DRAINED, shared.running.idle()).await.is_err() {
            shared.running.cancel_all();
            // The gateway reports a call that does not end even then.
            _ = timeout(ENDED, shared.running.idle()).await;
        }
        // It has waited for its own calls at the same time.
        _ = timeout(ENDED, queued).await;
        drop((announcing, beating));
        let goodbye = async {
            announce::withdraw(&shared).await;
            // The last replies are sent before we end.
            shared.cluster.flush().await;
        };
        // If NATS is unreachable, the entry expires.
        if shared.cluster.is_connected() {
            _ = timeout(GOODBYE, goodbye).await;
        }
        reason
    }
}

impl WorkerInner {
    fn offer(&self) -> Arc<WorkerOffer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what should be offered now.
    fn look(&self) -> Result<WorkerOffer, Error> {
        let all = self.executor.tools().listed();
        let chosen = all.iter().filter(|tool| (self.choice)(tool));
        WorkerOffer::new(chosen.map(|tool| OfferedTool::from(&**tool)).collect())
    }

    fn offer_anew(&self) -> Result<(), Error> {
        let offer = self.look()?;
        let mut current = self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        if current.hash != offer.hash {
            *current = Arc::new(offer);
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Notes whether somebody watches the entries of workers.
    fn set_watched(&self, is_watched: bool) {
        let until = (!is_watched).then(|| Instant::now() + UNWATCHED);
        *self.unwatched_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn is_watched(&self) -> bool {
        let until = *self.unwatched_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_none_or(|until| Instant::now() >= until)
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    fn presence(&self, offer: &WorkerOffer) -> Presence {
        Presence {
            group: self.group.clone(),
            worker: self.id.clone(),
            tools: offer.hash.clone(),
            capacity: self.capacity,
            running: self.capacity.saturating_sub(self.slots.available_permits()),
            leaving: self.is_leaving(),
            notifies: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
        }
    }
}

/// Checks a group's name.
///
/// # Errors
/// The name is invalid: the text says why.
pub fn check_group(group: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if group.is_empty() || group.len() > 64 || !group.chars().all(is_plain) || group.contains("__")
    {
        let reason = format!(
            "{group:?} must be 1 to 64 letters, digits, `-` and `_`, without `__`: it stands before the tools' names"
        );
        return Err(Error::Worker { key: "group", reason });
    }
    Ok(())
}
