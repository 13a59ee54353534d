//! The worker's side: tools of an executor, offered to a group, run for whoever asks.
//!
//! `announce.rs` says that we are there and what we offer, `listen.rs` hears what we are asked, `calls.rs` runs a call,
//! `running.rs` knows which calls run and ends them, `alive.rs` says that they do.

mod alive;
mod announce;
mod listen;
mod calls;
mod running;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use switchboard_runtime::{RegisteredTool, ToolExecutor};
use tokio::{
    sync::{Notify, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use ulid::Ulid;

use crate::{
    Cluster, Error, Runner,
    offer::{Offer, OfferedTool, Presence},
    sign::Seen,
};
use listen::Subscriptions;
use running::RunningCalls;

/// How long running calls may go on after we are told to stop (SPEC GW-4).
const DRAINED: Duration = Duration::from_secs(10);

/// How long calls that are cancelled then may take to end.
const ENDED: Duration = Duration::from_secs(3);

/// How long NATS may take to hear that we are gone.
const GOODBYE: Duration = Duration::from_secs(2);

/// Which of an executor's tools are offered.
pub type Choice = Arc<dyn Fn(&RegisteredTool) -> bool + Send + Sync>;

/// Offers the tools of an executor to a group, until it is told to stop.
pub struct Worker(Arc<Shared>);

/// What all tasks of a worker share.
struct Shared {
    cluster: Cluster,
    group: String,
    id: String,
    executor: ToolExecutor,
    choice: Choice,
    capacity: usize,
    slots: Arc<Semaphore>,
    running: Arc<RunningCalls>,
    offer: Mutex<Arc<Offer>>,
    /// Rung when something of what we say of ourselves has changed.
    bell: Notify,
    leaving: AtomicBool,
    /// Where we hear that nobody waits for a call.
    inbox: String,
    /// The requests that were taken.
    seen: Seen,
    started: u64,
}

impl Worker {
    /// A worker of `group` that runs `capacity` calls at once. Says nothing yet.
    ///
    /// # Errors
    /// The group cannot be called so, or nothing could run.
    pub fn new(
        cluster: Cluster,
        group: &str,
        capacity: usize,
        executor: ToolExecutor,
        choice: Choice,
    ) -> Result<Self, Error> {
        check_group(group)?;
        if capacity == 0 || capacity > Semaphore::MAX_PERMITS {
            let reason = format!("nothing could run with {capacity}");
            return Err(Error::Worker { key: "concurrency", reason });
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let shared = Shared {
            inbox: cluster.new_inbox(),
            cluster,
            group: group.to_owned(),
            id: Ulid::generate().to_string(),
            executor,
            choice,
            capacity,
            slots: Arc::new(Semaphore::new(capacity)),
            running: Arc::default(),
            offer: Mutex::new(Arc::new(Offer { hash: String::new(), tools: Vec::new() })),
            bell: Notify::new(),
            leaving: AtomicBool::new(false),
            seen: Seen::default(),
            started: now.as_secs(),
        };
        let offer = shared.look()?;
        *shared.offer.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
        Ok(Self(Arc::new(shared)))
    }

    /// Its id, unlike any other's.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it offers its tools.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    /// What it offers now.
    pub fn offer(&self) -> Arc<Offer> {
        self.0.offer()
    }

    /// The slots that its calls take, for what else runs here.
    pub fn slots(&self) -> &Arc<Semaphore> {
        &self.0.slots
    }

    /// Offers the tools until `stop` fires; then lets running calls finish, cancels those that do not, answers all and
    /// says goodbye.
    ///
    /// # Errors
    /// The connection was closed.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let shared = self.0;
        let mut listening = Subscriptions::start(&shared).await?;
        let announcing = AbortOnDropHandle::new(tokio::spawn(announce::run(shared.clone())));
        // Queued calls are taken as long as others are, and have as long to end.
        let runner = Runner::new(
            shared.cluster.jobs(),
            &shared.group,
            &shared.id,
            shared.executor.clone(),
            shared.choice.clone(),
            shared.slots.clone(),
        );
        let told = stop.clone();
        let queued = AbortOnDropHandle::new(tokio::spawn(async move {
            runner.run(told, DRAINED).await;
        }));
        let _alive = AbortOnDropHandle::new(tokio::spawn(alive::run(shared.clone())));
        let mut version = shared.executor.tools().version();
        loop {
            shared.offer_anew()?;
            listening.adjust(&shared).await?;
            tokio::select! {
                () = stop.cancelled() => break,
                changed = version.changed() => if changed.is_err() { break },
            }
        }
        shared.leaving.store(true, Ordering::Release);
        shared.bell.notify_one();
        listening.drain();
        if shared.cluster.is_connected() {
            _ = timeout(ENDED, listening.drained()).await;
        }
        if timeout(DRAINED, shared.running.idle()).await.is_err() {
            shared.running.cancel_all();
            // Whoever does not end even then is answered for by whoever asked.
            _ = timeout(ENDED, shared.running.idle()).await;
        }
        // It has waited for its own calls at the same time.
        _ = timeout(ENDED, queued).await;
        drop(announcing);
        let goodbye = async {
            announce::withdraw(&shared).await;
            // What was answered last is on its way before we end.
            shared.cluster.flush().await;
        };
        // Where NATS is away, nobody hears it.
        if shared.cluster.is_connected() {
            _ = timeout(GOODBYE, goodbye).await;
        }
        Ok(())
    }
}

impl Shared {
    fn offer(&self) -> Arc<Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is to be offered now.
    fn look(&self) -> Result<Offer, Error> {
        let all = self.executor.tools().listed();
        let chosen = all.iter().filter(|tool| (self.choice)(tool));
        Offer::new(chosen.map(|tool| OfferedTool::from(&**tool)).collect())
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

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    fn presence(&self, offer: &Offer) -> Presence {
        Presence {
            group: self.group.clone(),
            worker: self.id.clone(),
            tools: offer.hash.clone(),
            capacity: self.capacity,
            running: self.capacity.saturating_sub(self.slots.available_permits()),
            leaving: self.is_leaving(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
        }
    }
}

/// Whether a group can be called so, wherever its tools are shown.
///
/// # Errors
/// It cannot: the text says why.
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
