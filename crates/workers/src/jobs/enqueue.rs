//! Queues a call durably, or fails.

use std::{future::Future, time::Duration};

use serde_json::Value;
use switchboard_runtime::{fingerprint, key_conflict};
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolError, ToolSpec};
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use super::{
    Job, JobPayload, Jobs,
    keys::{self, KeyClaim},
    state::{self, JobState},
};
use crate::{Error, Purpose, transport::QueueFull};

/// How long the servers may take to confirm.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(2);
/// For how long publishing is retried: as long as an election takes when a server is lost. Duplicates are recognised by
/// id.
const INSISTING: Duration = Duration::from_secs(10);
/// The pause before retries.
const PAUSE: Duration = Duration::from_millis(200);

impl Jobs {
    /// Queues a call of a worker's tool. Returns its id, or that of an earlier call if the caller's idempotency key was
    /// used for the same call before.
    ///
    /// # Errors
    /// The key was used for another call, or the servers cannot be reached.
    pub async fn enqueue(
        &self,
        spec: &ToolSpec,
        args: Value,
        cx: &CallContext,
    ) -> Result<CallId, ToolError> {
        self.reachable(spec).await?;
        self.agreed(spec).await?;
        let mut id = cx.call_id.unwrap_or_else(CallId::generate);
        if let Some(key) = cx.idempotency_key.as_deref() {
            let fingerprint = fingerprint(&spec.name, &args);
            let caller = cx.caller.as_deref();
            let claim = || within(keys::claim(self.cluster(), caller, key, id, fingerprint));
            match insist(claim).await.map_err(|error| self.unreachable(spec, error))? {
                KeyClaim::First => {}
                KeyClaim::Earlier(earlier) if self.is_known(earlier).await => return Ok(earlier),
                // The gateway that claimed the key may have died before the call was queued.
                KeyClaim::Earlier(earlier) => id = earlier,
                KeyClaim::Other => return Err(key_conflict(key)),
            }
        }
        let Value::Object(args) = args else {
            return Err(ToolError::invalid("arguments must be object"));
        };
        let Some(job) = Job::new(id, spec, args, cx) else {
            return Err(ToolError::not_durable(&spec.name));
        };
        self.lay_in(job).await.map_err(|error| match error {
            Error::QueueFull | Error::Partitions { .. } => not_queued(spec, error),
            error => self.unconfirmed(spec, id, error),
        })?;
        Ok(id)
    }

    /// Publishes the message first and the state second: whatever fails in between, the call runs, and the worker
    /// creates the state.
    async fn lay_in(&self, job: Job) -> Result<(), Error> {
        let (id, subject) = (job.id(), self.cluster().names().jobs(&job.group, &job.request.tool));
        let placed = within(JobPayload::put(self.cluster(), job.clone())).await?;
        let payload = self.cluster().signer().write(Purpose::Job, &[&subject], &placed)?;
        let number = self.publish(&subject, &id.to_string(), payload).await?;
        let kept = JobState::new(&job, number);
        insist(|| within(state::create(self.cluster(), kept.clone()))).await.map(drop)
    }

    /// Publishes until the stream confirms the message. Returns its sequence number. Duplicates are recognised by id.
    pub(crate) async fn publish(
        &self,
        subject: &str,
        id: &str,
        payload: bytes::Bytes,
    ) -> Result<u64, Error> {
        insist(|| {
            let published = self.cluster().queue().publish(subject, id, payload.clone());
            within(async {
                published.await.map_err(|reason| match reason.downcast::<Error>() {
                    Ok(error) => *error,
                    Err(reason) if reason.is::<QueueFull>() => Error::QueueFull,
                    Err(reason) => Error::refused("take the call")(reason),
                })
            })
        })
        .await
    }

    async fn is_known(&self, id: CallId) -> bool {
        matches!(within(state::get(self.cluster(), id)).await, Ok(Some(_)))
    }

    /// Waits for the connection. Nothing is published without one, since it could arrive later.
    async fn reachable(&self, spec: &ToolSpec) -> Result<(), ToolError> {
        let connected = async {
            while !self.cluster().is_connected() {
                sleep(CONNECTING / 100).await;
            }
        };
        let missed = |_| ToolError::unreachable(&spec.name, self.place());
        timeout(CONNECTING, connected).await.map_err(missed)
    }

    /// Checks that the call would be where workers look for it.
    async fn agreed(&self, spec: &ToolSpec) -> Result<(), ToolError> {
        insist(|| within(self.cluster().agree())).await.map_err(|error| match error {
            Error::Partitions { .. } => not_queued(spec, error),
            error => self.unreachable(spec, error),
        })
    }

    fn unreachable(&self, spec: &ToolSpec, error: Error) -> ToolError {
        ToolError::unreachable(&spec.name, self.place()).caused_by(error)
    }

    fn unconfirmed(&self, spec: &ToolSpec, id: CallId, error: Error) -> ToolError {
        let (name, place) = (&spec.name, self.place());
        let text =
            format!("Tool '{name}' may run: {place} did not confirm that it is queued as {id}");
        let kind = match spec.is_read_only() {
            true => ErrorKind::Unavailable,
            false => ErrorKind::OutcomeUnknown,
        };
        ToolError::new(kind, text).caused_by(error)
    }

    fn place(&self) -> String {
        format!("NATS at {}", self.cluster().address())
    }
}

/// Returns the error of a call that certainly is not in the queue.
fn not_queued(spec: &ToolSpec, error: Error) -> ToolError {
    let text = format!("Tool '{}' was not queued: {error}", spec.name);
    match error {
        Error::QueueFull => {
            ToolError::new(ErrorKind::Overloaded, format!("{text}; try again later"))
        }
        _ => ToolError::new(ErrorKind::Unavailable, text),
    }
    .caused_by(error)
}

/// Limits how long the servers may take.
pub(crate) async fn within<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(elapsed) => Err(Error::refused("answer in time")(elapsed.into())),
    }
}

/// Retries for a limited time.
async fn insist<T, W: Future<Output = Result<T, Error>>>(work: impl Fn() -> W) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        match work().await {
            // That does not change within moments, and the caller is told.
            Err(error @ (Error::QueueFull | Error::Partitions { .. })) => return Err(error),
            Err(error) if begun.elapsed() < INSISTING => {
                debug!("the queue is asked again: {error}");
                sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}
