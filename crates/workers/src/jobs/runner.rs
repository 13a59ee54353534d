//! A worker's side of the queue: takes one call for each free slot, and runs it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{BoxError, CallId, CancellationToken};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use super::{Jobs, attempt};
use crate::{
    Purpose,
    transport::{Ack, Consumer, Delivery},
    wire::{self, WorkerNotice},
    worker::OfferFilter,
};

/// How long one pull waits at the servers.
const PULL: Duration = Duration::from_secs(10);
/// How long cancelled calls may take to end, at least.
const SLACK: Duration = Duration::from_secs(3);
/// The pause before the servers are tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs queued calls of one group. Cheap to clone.
#[derive(Clone)]
pub struct JobRunner(Arc<JobRunnerInner>);

struct JobRunnerInner {
    jobs: Jobs,
    group: String,
    worker: String,
    executor: ToolExecutor,
    /// Which of its tools may run as durable calls.
    choice: OfferFilter,
    slots: Arc<Semaphore>,
    running: RunningJobs,
    leaving: CancellationToken,
}

impl JobRunner {
    /// Runs calls of `group` through `executor`: of tools that `choice` accepts, as many at once as `slots` are free.
    /// Others may take slots as well; the runner takes none while it waits for calls.
    pub fn new(
        jobs: Jobs,
        group: impl Into<String>,
        worker: impl Into<String>,
        executor: ToolExecutor,
        choice: OfferFilter,
        slots: Arc<Semaphore>,
    ) -> Self {
        Self(Arc::new(JobRunnerInner {
            jobs,
            group: group.into(),
            worker: worker.into(),
            executor,
            choice,
            slots,
            running: RunningJobs::default(),
            leaving: CancellationToken::new(),
        }))
    }

    /// Takes calls until `stop` fires; running ones then have `patience` to end, and the rest is returned to the queue.
    /// Retries while the servers cannot be reached.
    pub async fn run(&self, stop: CancellationToken, patience: Duration) {
        // Ends with this future, as the calls do.
        let mut heard = JoinSet::new();
        heard.spawn(self.clone().hear());
        let mut calls = JoinSet::new();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.take(&mut calls) => {}
        }
        let ended = async { while calls.join_next().await.is_some() {} };
        if timeout(patience, ended).await.is_err() {
            self.0.leaving.cancel();
            self.0.running.cancel_all();
            let ended = async { while calls.join_next().await.is_some() {} };
            // They only have to report that they were cancelled.
            let _ = timeout(patience.max(SLACK), ended).await;
        }
    }

    /// Takes one call for each free slot and no more: a call that waited here would count as lost.
    async fn take(&self, calls: &mut JoinSet<()>) {
        let mut consumer = None;
        // The semaphore is never closed.
        while let Ok(free) = self.0.slots.acquire().await {
            drop(free);
            let delivery = match self.pull(&mut consumer).await {
                Ok(Some(delivery)) => delivery,
                Ok(None) => continue,
                Err(error) => {
                    debug!(group = self.group(), %error, "no queued calls could be asked for");
                    consumer = None;
                    sleep(PAUSE).await;
                    continue;
                }
            };
            while calls.try_join_next().is_some() {}
            let Ok(slot) = self.0.slots.clone().try_acquire_owned() else {
                // Another call took the last slot meanwhile, so this one is left to another worker.
                _ = delivery.acks.ack(Ack::Retry(Duration::ZERO)).await;
                continue;
            };
            let runner = self.clone();
            calls.spawn(async move {
                attempt::handle(&runner, delivery).await;
                drop(slot);
            });
        }
    }

    async fn pull(
        &self,
        consumer: &mut Option<Box<dyn Consumer>>,
    ) -> Result<Option<Delivery>, BoxError> {
        let consumer = match consumer {
            Some(consumer) => consumer,
            None => {
                let queue = self.0.jobs.cluster().queue();
                let ack_wait = self.0.jobs.config().lost_after.0;
                consumer.insert(queue.consumer(&self.0.group, ack_wait).await?)
            }
        };
        consumer.next(PULL).await
    }

    /// Handles cancellations.
    async fn hear(self) {
        let subject = self.0.jobs.cluster().names().group(&self.0.group);
        loop {
            match self.0.jobs.cluster().subscribe(subject.clone(), None).await {
                Ok(mut notices) => {
                    while let Some(notice) = notices.next().await {
                        let signer = self.0.jobs.cluster().signer();
                        let opened =
                            signer.open(Purpose::Notice, &[&notice.subject], &notice.payload);
                        let notice = opened.and_then(|opened| wire::read("a notice", &opened.body));
                        match notice {
                            Ok(WorkerNotice::Cancel(call)) => self.0.running.cancel(call),
                            // These are about workers, not about calls.
                            Ok(
                                WorkerNotice::Report
                                | WorkerNotice::Announce
                                | WorkerNotice::Watched(_),
                            ) => {}
                            Err(error) => debug!(%error, "a notice is skipped"),
                        }
                    }
                }
                Err(error) => {
                    warn!(group = self.group(), %error, "failed to subscribe to cancellations")
                }
            }
            sleep(PAUSE).await;
        }
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    pub(crate) fn group(&self) -> &str {
        &self.0.group
    }

    pub(crate) fn worker(&self) -> &str {
        &self.0.worker
    }

    /// Returns whether this worker has the tool.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.0.executor.tools().lookup(tool).is_ok_and(|tool| (self.0.choice)(&tool))
    }

    pub(crate) fn executor(&self) -> &ToolExecutor {
        &self.0.executor
    }

    pub(crate) fn running(&self) -> &RunningJobs {
        &self.0.running
    }

    /// Returns whether the worker is stopping and cancels its calls.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.leaving.is_cancelled()
    }
}

/// The jobs that run here, to be cancelled by id.
#[derive(Default)]
pub(crate) struct RunningJobs(Mutex<HashMap<CallId, CancellationToken>>);

impl RunningJobs {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<CallId, CancellationToken>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn enter(&self, call: CallId, cancel: CancellationToken) {
        self.with(|calls| calls.insert(call, cancel));
    }

    pub(crate) fn leave(&self, call: CallId) {
        self.with(|calls| calls.remove(&call));
    }

    fn cancel(&self, call: CallId) {
        self.with(|calls| calls.get(&call).map(CancellationToken::cancel));
    }

    fn cancel_all(&self) {
        self.with(|calls| calls.values().for_each(CancellationToken::cancel));
    }
}
