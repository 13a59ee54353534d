//! One delivery of a queued call: what is to be done with it, the run, and what follows.

mod step;

use std::{sync::Arc, time::Duration};

use switchboard_runtime::QueueState;
use switchboard_toolcall::{ErrorKind, Progress, ToolResult};
use tokio::{sync::watch, time::sleep};
use tracing::{error, info, warn};

use super::{
    Job, Payload, Runner,
    enqueue::within,
    heartbeat::{Heartbeat, OwnedJob},
    state::{self, Entry, JobOutcome, JobState},
    verdict::Verdict,
};
use crate::{
    Error, Purpose,
    sign::Opened,
    transport::{Ack, Delivery},
    wire::{self, Failure, Outcome},
};
use step::Step;
pub(crate) use step::cancelled;

/// How long a call is left alone that could not be looked at.
const LATER: Duration = Duration::from_secs(2);

/// How long a call is left alone that is not signed as it has to be.
const UNSIGNED: Duration = Duration::from_secs(30);

/// Does what is to be done with a delivered call.
pub(crate) async fn handle(runner: &Runner, delivery: Delivery) {
    let delivery = Arc::new(delivery);
    let body = match opened(runner, &delivery) {
        Ok(opened) => opened.body,
        Err(error) => {
            // It may be this node that has the wrong key, so the call is left for others.
            runner.jobs().cluster().signer().refused(Purpose::Job, &delivery.subject, &error);
            _ = delivery.acks.ack(Ack::Retry(UNSIGNED)).await;
            return;
        }
    };
    let placed: Payload<Job> = match wire::read("a queued call", &body) {
        Ok(placed) => placed,
        Err(error) => {
            // It would never be understood, and nobody waits under an id for it.
            error!(group = runner.group(), %error, "a queued call is thrown away: {error}");
            _ = delivery.acks.ack(Ack::Discard).await;
            return;
        }
    };
    let job = match placed.clone().get(runner.jobs().cluster(), "a queued call").await {
        Ok(job) => job,
        Err(error) => return later(&delivery, &error).await,
    };
    let attempt = Attempt { runner, delivery: delivery.clone(), placed, job };
    if let Err(error) = attempt.handle().await {
        later(&delivery, &error).await;
    }
}

/// Returns what was queued, if it is signed. It was signed when it was laid into the queue: what was laid in much later was laid in
/// by somebody who had only heard of it.
fn opened(runner: &Runner, delivery: &Delivery) -> Result<Opened, Error> {
    let Delivery { subject, payload, published_ms, .. } = delivery;
    let signer = runner.jobs().cluster().signer();
    signer.open_fresh(Purpose::Job, &[subject.as_str()], payload, *published_ms)
}

/// Gives a call back that cannot be looked at now.
async fn later(delivery: &Delivery, error: &Error) {
    warn!(%error, "a queued call is left for later: {error}");
    let pause = LATER * u32::try_from(delivery.delivered.clamp(1, 15)).unwrap_or(1);
    // What cannot be told comes back by itself.
    _ = delivery.acks.ack(Ack::Retry(pause)).await;
}

/// One attempt at a queued call, which was delivered.
struct Attempt<'a> {
    runner: &'a Runner,
    delivery: Arc<Delivery>,
    placed: Payload<Job>,
    job: Job,
}

impl Attempt<'_> {
    async fn handle(&self) -> Result<(), Error> {
        let mut entry = self.entry().await?;
        loop {
            let has_tool = self.runner.has(&self.job.request.tool);
            let most = self.runner.jobs().config().attempts;
            let Delivery { number, delivered, .. } = *self.delivery;
            let step = Step::of(&entry.kept, &self.job, number, delivered, has_tool, most);
            let changed = match step {
                Step::Leave => return self.done().await,
                Step::Later(pause) => return self.again(pause).await,
                Step::Watch => match self.watch(&entry).await? {
                    Some(found) => Some(found),
                    None => {
                        self.end_unrun(&entry, QueueState::Done, step::unknown(&entry.kept)).await?
                    }
                },
                Step::Cancel => {
                    let failure = step::cancelled(&entry.kept);
                    self.end_unrun(&entry, QueueState::Cancelled, failure).await?
                }
                Step::Bury(failure) => {
                    self.bury(&entry.kept, failure.clone()).await?;
                    self.end_unrun(&entry, QueueState::Dead, failure).await?
                }
                Step::Begin => match self.begin(&entry).await? {
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

    /// How the call is; noted here where whoever queued it did not get that far.
    async fn entry(&self) -> Result<Entry, Error> {
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

    async fn begin(&self, entry: &Entry) -> Result<Option<Entry>, Error> {
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

    /// Ends the call without a run; the entry where there is more to do.
    async fn end_unrun(
        &self,
        entry: &Entry,
        state: QueueState,
        failure: Failure,
    ) -> Result<Option<Entry>, Error> {
        let mut kept = entry.kept.clone();
        kept.state = state;
        kept.changes();
        let outcome = Payload::Here(Outcome::Failure(failure));
        kept.ended = Some(JobOutcome { outcome, micros: 0, record: None });
        self.update(kept, entry.revision).await
    }

    async fn update(&self, kept: JobState, revision: u64) -> Result<Option<Entry>, Error> {
        within(state::update(self.runner.jobs().cluster(), kept, revision)).await
    }

    /// Watches whether whoever began the call says anything more of it; none where it does not.
    async fn watch(&self, entry: &Entry) -> Result<Option<Entry>, Error> {
        let beat = self.runner.jobs().config().beat();
        for _ in 0..4 {
            // Nobody else is to get it in the meantime.
            _ = self.delivery.acks.ack(Ack::Progress).await;
            sleep(beat / 2).await;
            let found = within(state::get(self.runner.jobs().cluster(), self.job.id())).await?;
            if let Some(found) = found.filter(|found| found.revision != entry.revision) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Runs the call and writes down what came of it.
    async fn run(&self, begun: Entry) -> Result<(), Error> {
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
        // Whoever has the call now needs to hear of it until it is settled.
        let settled = self.settle(&mine, &result).await;
        drop(beat);
        settled
    }

    async fn settle(&self, mine: &OwnedJob, result: &ToolResult) -> Result<(), Error> {
        let kept = mine.kept().await;
        let cut_short = result.error_kind() == Some(ErrorKind::Cancelled);
        if mine.is_lost() {
            // Another worker has it, or it was ended: what came of this run is nobody's business any more.
            return Ok(());
        }
        let failure = match Outcome::from(result) {
            Outcome::Failure(failure) => failure,
            answer @ Outcome::Answer(_) => {
                return self.end(mine, QueueState::Done, answer, result).await;
            }
        };
        if cut_short && !self.runner.is_leaving() {
            let ended = Outcome::Failure(failure);
            return self.end(mine, QueueState::Cancelled, ended, result).await;
        }
        if cut_short && !self.job.may_repeat {
            let ended = Outcome::Failure(step::unknown(&kept));
            return self.end(mine, QueueState::Done, ended, result).await;
        }
        let again =
            cut_short || Verdict::of(Some(failure.kind), self.job.may_repeat) == Verdict::Again;
        if !again {
            return self.end(mine, QueueState::Done, Outcome::Failure(failure), result).await;
        }
        let config = self.runner.jobs().config();
        if kept.attempts >= config.attempts && !cut_short {
            self.bury(&kept, failure.clone()).await?;
            return self.end(mine, QueueState::Dead, Outcome::Failure(failure), result).await;
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

    /// Writes down the end of the call, then lets the queue forget it.
    async fn end(
        &self,
        mine: &OwnedJob,
        state: QueueState,
        outcome: Outcome,
        result: &ToolResult,
    ) -> Result<(), Error> {
        let cluster = self.runner.jobs().cluster();
        let outcome = mine.insist_on(|| Payload::put(cluster, outcome.clone())).await?;
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

    async fn bury(&self, kept: &JobState, failure: Failure) -> Result<(), Error> {
        warn!(
            call = %kept.call, tool = kept.name, attempts = kept.attempts, error = failure.text,
            "a queued call goes to the dead letters"
        );
        self.runner.jobs().bury(&self.job, kept.attempts, failure).await
    }

    /// Lets the queue forget the call, which has ended.
    async fn done(&self) -> Result<(), Error> {
        // What is not confirmed is delivered again, and found to be over.
        if let Err(error) = self.delivery.acks.ack(Ack::Done).await {
            warn!(call = %self.job.id(), %error, "the queue did not confirm that a call is over");
        }
        self.placed.forget(self.runner.jobs().cluster()).await;
        Ok(())
    }

    /// Lets the queue deliver the call again, after a while.
    async fn again(&self, pause: Duration) -> Result<(), Error> {
        // What is not told is delivered again as well, only later.
        _ = self.delivery.acks.ack(Ack::Retry(pause)).await;
        Ok(())
    }
}
