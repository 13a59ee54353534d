//! One delivery of a queued call: decides what to do, runs it, stores the outcome.

mod decide;

use std::{sync::Arc, time::Duration};

use switchboard_runtime::QueueState;
use switchboard_toolcall::{ErrorKind, Progress, ToolResult};
use tokio::{sync::watch, time::sleep};
use tracing::{error, info, warn};

use super::{
    Job, JobPayload, JobRunner,
    enqueue::within,
    heartbeat::{Heartbeat, OwnedJob},
    state::{self, JobEntry, JobOutcome, JobState},
    verdict::AttemptVerdict,
};
use crate::{
    Error, Purpose,
    sign::VerifiedMessage,
    transport::{Ack, Delivery},
    wire::{self, WireFailure, WireOutcome},
};
use decide::AttemptStep;
pub(crate) use decide::cancelled;

/// The delay before a call whose state could not be read is redelivered.
const LATER: Duration = Duration::from_secs(2);

/// The delay before a call with an invalid signature is redelivered.
const UNSIGNED: Duration = Duration::from_secs(30);

/// Handles a delivered call.
pub(crate) async fn handle(runner: &JobRunner, delivery: Delivery) {
    let delivery = Arc::new(delivery);
    let body = match opened(runner, &delivery) {
        Ok(opened) => opened.body,
        Err(error) => {
            // This node may have the wrong key, so the call is left to others.
            runner.jobs().cluster().signer().refused(Purpose::Job, &delivery.subject, &error);
            _ = delivery.acks.ack(Ack::Retry(UNSIGNED)).await;
            return;
        }
    };
    let placed: JobPayload<Job> = match wire::read("a queued call", &body) {
        Ok(placed) => placed,
        Err(error) => {
            // It will never parse, and there is no id to report it under.
            error!(group = runner.group(), %error, "a queued call is thrown away: {error}");
            _ = delivery.acks.ack(Ack::Discard).await;
            return;
        }
    };
    let job = match placed.clone().get(runner.jobs().cluster(), "a queued call").await {
        Ok(job) => job,
        Err(error) => return later(&delivery, &error).await,
    };
    let attempt = JobAttempt { runner, delivery: delivery.clone(), placed, job };
    if let Err(error) = attempt.handle().await {
        later(&delivery, &error).await;
    }
}

/// Returns the job, if it is signed. It was signed when it was queued: a message published much later is a replay.
fn opened(runner: &JobRunner, delivery: &Delivery) -> Result<VerifiedMessage, Error> {
    let Delivery { subject, payload, published_ms, .. } = delivery;
    let signer = runner.jobs().cluster().signer();
    signer.open_fresh(Purpose::Job, &[subject.as_str()], payload, *published_ms)
}

/// Returns a call that cannot be handled now to the queue.
async fn later(delivery: &Delivery, error: &Error) {
    warn!(%error, "a queued call is left for later: {error}");
    let pause = LATER * u32::try_from(delivery.delivered.clamp(1, 15)).unwrap_or(1);
    // Without an acknowledgement it is redelivered anyway.
    _ = delivery.acks.ack(Ack::Retry(pause)).await;
}

/// One attempt at a delivered call.
struct JobAttempt<'a> {
    runner: &'a JobRunner,
    delivery: Arc<Delivery>,
    placed: JobPayload<Job>,
    job: Job,
}

impl JobAttempt<'_> {
    async fn handle(&self) -> Result<(), Error> {
        let mut entry = self.entry().await?;
        loop {
            let has_tool = self.runner.has(&self.job.request.tool);
            let most = self.runner.jobs().config().attempts;
            let Delivery { number, delivered, .. } = *self.delivery;
            let step = AttemptStep::of(&entry.kept, &self.job, number, delivered, has_tool, most);
            let changed = match step {
                AttemptStep::Leave => return self.done().await,
                AttemptStep::Later(pause) => return self.again(pause).await,
                AttemptStep::Watch => match self.watch(&entry).await? {
                    Some(found) => Some(found),
                    None => {
                        self.end_unrun(&entry, QueueState::Done, decide::unknown(&entry.kept))
                            .await?
                    }
                },
                AttemptStep::Cancel => {
                    let failure = decide::cancelled(&entry.kept);
                    self.end_unrun(&entry, QueueState::Cancelled, failure).await?
                }
                AttemptStep::Bury(failure) => {
                    self.bury(&entry.kept, failure.clone()).await?;
                    self.end_unrun(&entry, QueueState::Dead, failure).await?
                }
                AttemptStep::Begin => match self.begin(&entry).await? {
                    Some(begun) => return self.run(begun).await,
                    None => None,
                },
            };
            entry = match changed {
                Some(entry) => entry,
                None => self.entry().await?,
            };
        }
    }

    /// Returns the call's state; creates it if the enqueuing gateway did not get that far.
    async fn entry(&self) -> Result<JobEntry, Error> {
        let cluster = self.runner.jobs().cluster();
        if let Some(entry) = within(state::get(cluster, self.job.id())).await? {
            return Ok(entry);
        }
        let created = state::create(cluster, JobState::new(&self.job, self.delivery.number));
        match within(created).await? {
            Some(entry) => Ok(entry),
            // A replica did not have it yet.
            None => Err(Error::refused("tell how a call is")("it is not there yet".into())),
        }
    }

    async fn begin(&self, entry: &JobEntry) -> Result<Option<JobEntry>, Error> {
        let mut kept = entry.kept.clone();
        kept.state = QueueState::Running;
        kept.attempts += 1;
        kept.message = Some(self.delivery.number);
        kept.worker = Some(self.runner.worker().to_owned());
        kept.beats = 0;
        kept.progress = None;
        kept.changes();
        self.update(kept, entry.revision).await
    }

    /// Ends the call without running it. Returns the entry if there is more to do.
    async fn end_unrun(
        &self,
        entry: &JobEntry,
        state: QueueState,
        failure: WireFailure,
    ) -> Result<Option<JobEntry>, Error> {
        let mut kept = entry.kept.clone();
        kept.state = state;
        kept.changes();
        let outcome = JobPayload::Here(WireOutcome::Failure(failure));
        kept.ended = Some(JobOutcome { outcome, micros: 0, record: None });
        self.update(kept, entry.revision).await
    }

    async fn update(&self, kept: JobState, revision: u64) -> Result<Option<JobEntry>, Error> {
        within(state::update(self.runner.jobs().cluster(), kept, revision)).await
    }

    /// Watches for heartbeats of the worker that started the call. Returns `None` if there are none.
    async fn watch(&self, entry: &JobEntry) -> Result<Option<JobEntry>, Error> {
        let beat = self.runner.jobs().config().beat();
        for _ in 0..4 {
            // Keep the delivery, so that no other worker gets it meanwhile.
            _ = self.delivery.acks.ack(Ack::Progress).await;
            sleep(beat / 2).await;
            let found = within(state::get(self.runner.jobs().cluster(), self.job.id())).await?;
            if let Some(found) = found.filter(|found| found.revision != entry.revision) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Runs the call and stores the outcome.
    async fn run(&self, begun: JobEntry) -> Result<(), Error> {
        let (id, runner) = (self.job.id(), self.runner);
        let attempt = begun.kept.attempts;
        let mine = Arc::new(OwnedJob::new(runner.jobs().cluster().clone(), begun));
        let (reports, progress) = watch::channel(None);
        let mut cx = self.job.context();
        cx.progress = Progress::to(move |update| _ = reports.send(Some(update.into())));
        runner.running().enter(id, cx.cancel.clone());
        let beat = Heartbeat {
            mine: mine.clone(),
            delivery: self.delivery.clone(),
            every: runner.jobs().config().beat(),
            progress,
            cancel: cx.cancel.clone(),
        };
        let beat = beat.start();
        let result = runner.executor().execute(self.job.call(), &cx).await;
        runner.running().leave(id);
        info!(
            call = %id, tool = self.job.name, attempt, outcome = result.outcome_code(),
            "a queued call was run"
        );
        // The heartbeat must continue until the outcome is stored.
        let settled = self.settle(&mine, &result).await;
        drop(beat);
        settled
    }

    async fn settle(&self, mine: &OwnedJob, result: &ToolResult) -> Result<(), Error> {
        let kept = mine.state().await;
        let cut_short = result.error_kind() == Some(ErrorKind::Cancelled);
        if mine.is_lost() {
            // Another worker owns it, or it has ended: this outcome is discarded.
            return Ok(());
        }
        let failure = match WireOutcome::from(result) {
            WireOutcome::Failure(failure) => failure,
            answer @ WireOutcome::Answer(_) => {
                return self.end(mine, QueueState::Done, answer, result).await;
            }
        };
        if cut_short && !self.runner.is_leaving() {
            let ended = WireOutcome::Failure(failure);
            return self.end(mine, QueueState::Cancelled, ended, result).await;
        }
        if cut_short && !self.job.may_repeat {
            let ended = WireOutcome::Failure(decide::unknown(&kept));
            return self.end(mine, QueueState::Done, ended, result).await;
        }
        let again = cut_short
            || AttemptVerdict::of(Some(failure.kind), self.job.may_repeat) == AttemptVerdict::Again;
        if !again {
            return self.end(mine, QueueState::Done, WireOutcome::Failure(failure), result).await;
        }
        let config = self.runner.jobs().config();
        if kept.attempts >= config.attempts && !cut_short {
            self.bury(&kept, failure.clone()).await?;
            return self.end(mine, QueueState::Dead, WireOutcome::Failure(failure), result).await;
        }
        let pause = if cut_short { Duration::ZERO } else { config.delay(kept.attempts) };
        let noted = mine.insist(|kept| {
            kept.state = QueueState::Queued;
            kept.progress = None;
            kept.last_error = Some(failure.clone());
            kept.changes();
        });
        match noted.await? {
            true => self.again(pause).await,
            false => Ok(()),
        }
    }

    /// Stores the outcome, then removes the call from the queue.
    async fn end(
        &self,
        mine: &OwnedJob,
        state: QueueState,
        outcome: WireOutcome,
        result: &ToolResult,
    ) -> Result<(), Error> {
        let cluster = self.runner.jobs().cluster();
        let outcome = mine.insist_on(|| JobPayload::put(cluster, outcome.clone())).await?;
        let ended = JobOutcome {
            outcome,
            micros: u64::try_from(result.elapsed.as_micros()).unwrap_or(u64::MAX),
            record: Some(result.call_id),
        };
        let noted = mine.insist(|kept| {
            kept.state = state;
            kept.changes();
            kept.ended = Some(ended.clone());
        });
        match noted.await? {
            true => self.done().await,
            false => {
                ended.outcome.forget(cluster).await;
                Ok(())
            }
        }
    }

    async fn bury(&self, kept: &JobState, failure: WireFailure) -> Result<(), Error> {
        warn!(
            call = %kept.call, tool = kept.name, attempts = kept.attempts, error = failure.text,
            "a queued call goes to the dead letters"
        );
        self.runner.jobs().bury(&self.job, kept.attempts, failure).await
    }

    /// Removes an ended call from the queue.
    async fn done(&self) -> Result<(), Error> {
        // If unconfirmed, it is redelivered and found to have ended.
        if let Err(error) = self.delivery.acks.ack(Ack::Done).await {
            warn!(call = %self.job.id(), %error, "the queue did not confirm that a call is over");
        }
        self.placed.forget(self.runner.jobs().cluster()).await;
        Ok(())
    }

    /// Returns the call to the queue, to be redelivered after a pause.
    async fn again(&self, pause: Duration) -> Result<(), Error> {
        // Without an acknowledgement it is redelivered too, only later.
        _ = self.delivery.acks.ack(Ack::Retry(pause)).await;
        Ok(())
    }
}
