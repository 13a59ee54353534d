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
    wire::{self, Notice},
    worker::Choice,
};

/// How long one question for a call waits at the servers.
const PULL: Duration = Duration::from_secs(10);
/// How long calls that are cut short may take to say so, at least.
const SLACK: Duration = Duration::from_secs(3);
/// How long is waited before the servers are asked again, after they could not be.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs queued calls of one group. Cheap to clone.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    jobs: Jobs,
    group: String,
    worker: String,
    executor: ToolExecutor,
    /// Which of its tools may be run so.
    choice: Choice,
    slots: Arc<Semaphore>,
    running: RunningCalls,
    leaving: CancellationToken,
}

impl Runner {
    /// Runs calls of `group` through `executor`: of tools that `choice` names, as many at once as `slots` are free. Others
    /// may take slots as well; while it only waits for calls, the runner takes none.
    pub fn new(
        jobs: Jobs,
        group: impl Into<String>,
        worker: impl Into<String>,
        executor: ToolExecutor,
        choice: Choice,
        slots: Arc<Semaphore>,
    ) -> Self {
        Self(Arc::new(Inner {
            jobs,
            group: group.into(),
            worker: worker.into(),
            executor,
            choice,
            slots,
            running: RunningCalls::default(),
            leaving: CancellationToken::new(),
        }))
    }

    /// Takes calls until `stop` fires; those that run then have `patience` to end, and the rest goes back to the queue.
    /// Servers that cannot be reached are tried again and again.
    pub async fn run(&self, stop: CancellationToken, patience: Duration) {
        // Ends with us, as the calls do.
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
            // They only have to say that they were cut short.
            let _ = timeout(patience.max(SLACK), ended).await;
        }
    }

    /// One call for each free slot, and no more: what waited here would count as lost.
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
                // Somebody else took the last one meanwhile, so another worker is to have the call.
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

    /// Hears that calls are cancelled.
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
                            Ok(Notice::Cancel(call)) => self.0.running.cancel(call),
                            Err(error) => debug!(%error, "a notice is passed over"),
                        }
                    }
                }
                Err(error) => warn!(group = self.group(), %error, "cancellations are not heard of"),
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

    /// Whether this worker has a tool to run.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.0.executor.tools().lookup(tool).is_ok_and(|tool| (self.0.choice)(&tool))
    }

    pub(crate) fn executor(&self) -> &ToolExecutor {
        &self.0.executor
    }

    pub(crate) fn running(&self) -> &RunningCalls {
        &self.0.running
    }

    /// Whether calls are cut short because the worker leaves.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.leaving.is_cancelled()
    }
}

/// The calls that run here, to be cancelled by their ids.
#[derive(Default)]
pub(crate) struct RunningCalls(Mutex<HashMap<CallId, CancellationToken>>);

impl RunningCalls {
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
