//! Runs a tool under its deadline: waits for a slot, cancels it at the deadline, contains its panics.

mod answer_time;
mod timed_channel;

use std::{
    any::Any,
    future::Future,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::Value;
use switchboard_toolcall::{
    CallContext, CallId, CancellationToken, ErrorKind, HumanDuration, Progress, ToolError,
    ToolOutput,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::DropGuard;
use tracing::Instrument;

use crate::{record::CallRecord, tools::RegisteredTool};
pub(crate) use answer_time::AnswerTime;

/// Bounds how many calls run and how many wait (SPEC EX-8).
#[derive(Clone)]
pub(crate) struct Slots {
    running: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    max_queue: usize,
}

/// Runs the tool. Returns its output, or the error if it timed out or was cancelled.
pub(crate) async fn run(
    tool: Arc<RegisteredTool>,
    args: Value,
    cx: &CallContext,
    record: &CallRecord,
    slots: &Slots,
) -> Result<ToolOutput, ToolError> {
    let call = |tool: Arc<RegisteredTool>, cx: CallContext| async move {
        tool.tool().call(args, &cx).await
    };
    in_task(tool, call, cx, record, slots).await
}

/// Like [`run`], but the tool queues the call.
pub(crate) async fn enqueue(
    tool: Arc<RegisteredTool>,
    args: Value,
    cx: &CallContext,
    record: &CallRecord,
    slots: &Slots,
) -> Result<CallId, ToolError> {
    let enqueue = |tool: Arc<RegisteredTool>, cx: CallContext| async move {
        tool.tool().enqueue(args, &cx).await
    };
    in_task(tool, enqueue, cx, record, slots).await
}

async fn in_task<T: Send + 'static, W>(
    tool: Arc<RegisteredTool>,
    work: impl FnOnce(Arc<RegisteredTool>, CallContext) -> W,
    cx: &CallContext,
    record: &CallRecord,
    slots: &Slots,
) -> Result<T, ToolError>
where
    W: Future<Output = Result<T, ToolError>> + Send + 'static,
{
    let limit = record.timeout(cx);
    let extends = tool.spec().settings.progress_extends_timeout;
    let alive = (extends || cx.caller_channel.is_some()).then(|| Arc::new(ToolActivity::default()));
    if let Some(alive) = &alive {
        record.may_be_asked(&alive.answers);
    }
    let own = CallContext {
        // `within` watches the caller's token: a child token would only cost a lock.
        cancel: CancellationToken::new(),
        deadline: Some(deadline(record.runs_from(cx), limit)),
        call_id: Some(record.id()),
        progress: match &alive {
            Some(alive) if extends => heard_too(&cx.progress, alive),
            _ => cx.progress.clone(),
        },
        caller_channel: match (&cx.caller_channel, &alive) {
            (Some(back), Some(alive)) => Some(timed_channel::ask_through(back, alive)),
            _ => None,
        },
        trace: record.trace(),
        ..cx.clone()
    };
    let work = pin!(async {
        let permits = slots.take(&tool).await?;
        record.dispatched();
        cx.before_run.notify().await;
        let cancel = own.cancel.clone();
        spawn(work(tool.clone(), own), cancel, permits).answer(&tool).await
    });
    let effects = match tool.spec().is_read_only() {
        true => "",
        false => "; side effects may have happened",
    };
    until_done(work, alive.as_deref(), cx, record, effects).await
}

/// Runs `work`, which is not a tool's code yet, until it is done, the deadline passes or the caller cancels.
pub(crate) async fn within<T>(
    work: impl Future<Output = Result<T, ToolError>>,
    cx: &CallContext,
    record: &CallRecord,
) -> Result<T, ToolError> {
    until_done(pin!(work), None, cx, record, "").await
}

/// Like [`within`], but `activity` restarts the timeout, and `effects` says what may have happened.
async fn until_done<T>(
    mut work: Pin<&mut impl Future<Output = Result<T, ToolError>>>,
    alive: Option<&ToolActivity>,
    cx: &CallContext,
    record: &CallRecord,
    effects: &str,
) -> Result<T, ToolError> {
    let limit = record.timeout(cx);
    let mut timer = pin!(sleep_until(deadline(record.runs_from(cx), limit)));
    loop {
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            () = cx.cancel.cancelled() => {
                return Err(cut_short(record, ErrorKind::Cancelled, "was cancelled", effects));
            }
            () = sign_of_life(alive) => timer.as_mut().reset(deadline(Instant::now(), limit)),
            () = &mut timer => {
                // The time until somebody answers a question of the tool does not count as the tool's.
                if alive.is_some_and(ToolActivity::waits_for_an_answer) {
                    timer.as_mut().reset(deadline(Instant::now(), limit));
                    continue;
                }
                let after = format!("timed out after {}", HumanDuration(limit));
                return Err(cut_short(record, ErrorKind::Timeout, &after, effects));
            }
        }
    }
}

async fn sign_of_life(alive: Option<&ToolActivity>) {
    match alive {
        Some(alive) => alive.bell.notified().await,
        None => std::future::pending().await,
    }
}

/// What a running tool reports to the timeout.
#[derive(Debug, Default)]
struct ToolActivity {
    /// Notified by progress and by answers, which restart the timeout.
    bell: Notify,
    /// Measures how long the tool's questions were unanswered.
    answers: Arc<AnswerTime>,
}

impl ToolActivity {
    fn waits_for_an_answer(&self) -> bool {
        self.answers.runs()
    }
}

/// Wraps `progress` so that each update also restarts the timeout.
fn heard_too(progress: &Progress, alive: &Arc<ToolActivity>) -> Progress {
    let (progress, alive) = (progress.clone(), alive.clone());
    Progress::to(move |update| {
        alive.bell.notify_one();
        progress.report(update);
    })
}

/// Returns the deadline of a call that began at `started`.
fn deadline(started: Instant, limit: Duration) -> Instant {
    // The clock cannot add arbitrary durations.
    let century = Duration::from_secs(100 * 365 * 86400);
    started + limit.min(century)
}

fn cut_short(record: &CallRecord, kind: ErrorKind, what: &str, effects: &str) -> ToolError {
    ToolError::new(kind, format!("Tool '{}' {what}{effects}", record.name()))
}

/// Starts the tool in its own task: a panic, in a poll or in a drop, ends there, and a tool that blocks its thread
/// cannot delay its caller beyond the deadline. The slots are held until the task has really ended.
fn spawn<T: Send + 'static>(
    work: impl Future<Output = Result<T, ToolError>> + Send + 'static,
    cancel: CancellationToken,
    permits: Permits,
) -> ToolTask<T> {
    let told = Some(cancel.drop_guard());
    let work = async move {
        let _permits = permits;
        work.await
    };
    ToolTask { told, work: tokio::spawn(work.in_current_span()) }
}

/// A tool's task; cancelled, then aborted, when dropped.
struct ToolTask<T> {
    /// Cancels the tool's token.
    told: Option<DropGuard>,
    work: JoinHandle<Result<T, ToolError>>,
}

impl<T> ToolTask<T> {
    async fn answer(mut self, tool: &RegisteredTool) -> Result<T, ToolError> {
        let ended = (&mut self.work).await;
        self.told.take().map(DropGuard::disarm);
        match ended {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => Err(crashed(tool.name(), panic)),
                // Only a runtime that shuts down cancels a task that is still awaited.
                Err(_) => {
                    let text = format!("Tool '{}' was cancelled: the runtime ends", tool.name());
                    Err(ToolError::new(ErrorKind::Cancelled, text))
                }
            },
        }
    }
}

impl<T> Drop for ToolTask<T> {
    fn drop(&mut self) {
        // Cancel before aborting, so that the tool's destructors see a cancelled token.
        drop(self.told.take());
        self.work.abort();
    }
}

/// Runs `work`, which is not a tool's code, and turns a panic of a schema, a policy or our own code into an error.
pub(crate) async fn caught<T>(
    name: &str,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let outcome = AssertUnwindSafe(pin!(work)).catch_unwind().await;
    outcome.unwrap_or_else(|panic| Err(crashed(name, panic)))
}

/// Returns the error that the model reads; the panic's message goes to log and audit.
pub(crate) fn crashed(name: &str, panic: Box<dyn Any + Send>) -> ToolError {
    let message = panic
        .downcast::<String>()
        .map(|message| *message)
        .or_else(|panic| panic.downcast::<&str>().map(|message| (*message).to_owned()))
        .unwrap_or_else(|_| "a panic without a message".to_owned());
    let text = format!("Tool '{name}' crashed; side effects may have happened");
    ToolError::new(ErrorKind::Internal, text).caused_by(message)
}

/// The slots that a running call holds: its tool's and its server's, if limited, and a global one.
type Permits = (Vec<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl Slots {
    pub(crate) fn new(max_concurrent: usize, max_queue: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(max_concurrent.min(Semaphore::MAX_PERMITS))),
            waiting: Arc::default(),
            max_queue,
        }
    }

    /// How many calls wait for a slot now.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for slots, the narrowest limit first: a call that waits for a busy server must not block others.
    async fn take(&self, tool: &RegisteredTool) -> Result<Permits, ToolError> {
        let mut narrow = Vec::with_capacity(tool.slots.len());
        for slots in &tool.slots {
            narrow.push(self.one(slots, tool).await?);
        }
        Ok((narrow, self.one(&self.running, tool).await?))
    }

    async fn one(
        &self,
        slots: &Arc<Semaphore>,
        tool: &RegisteredTool,
    ) -> Result<OwnedSemaphorePermit, ToolError> {
        if let Ok(permit) = slots.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let _place = QueuePlace::take(&self.waiting, self.max_queue)
            .ok_or_else(|| overloaded(tool, "too many calls are waiting"))?;
        let closed = |_| overloaded(tool, "the executor is closed");
        slots.clone().acquire_owned().await.map_err(closed)
    }
}

fn overloaded(tool: &RegisteredTool, why: &str) -> ToolError {
    let text = format!("Tool '{}' was not run: {why}; try again later", tool.name());
    ToolError::new(ErrorKind::Overloaded, text)
}

/// A place in the queue, released when dropped.
struct QueuePlace<'a>(&'a AtomicUsize);

impl<'a> QueuePlace<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let taken = waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(waiting);
        (taken < max).then_some(place)
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
