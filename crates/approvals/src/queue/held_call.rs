//! A call that waits for its outcome.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use switchboard_runtime::{
    Ruling,
    approval::{ApprovalRequest, PendingDecision, PersonDecision},
};
use switchboard_toolcall::BoxError;
use tokio::time::{Instant, timeout_at};

use super::{ApprovalQueue, counts::CountGuard};
use crate::{
    approval::{ApprovalOutcome, PendingApproval},
    error::Error,
    folder,
    store::PendingGuard,
};

/// How often outcomes written by other processes are looked for; those of this one notify.
const LOOK: Duration = Duration::from_millis(200);

/// A call that is in the queue until this is dropped.
pub(super) struct HeldCall<'a> {
    queue: &'a ApprovalQueue,
    id: String,
    fingerprint: String,
    expires: SystemTime,
    _guard: PendingGuard,
    _count: CountGuard<'a>,
    is_over: bool,
}

impl<'a> HeldCall<'a> {
    /// Adds the call to the queue.
    ///
    /// # Errors
    /// The store cannot be written, or too many calls wait.
    pub(super) fn new(
        queue: &'a ApprovalQueue,
        question: &ApprovalRequest,
        note: Option<String>,
    ) -> Result<Self, Error> {
        queue.sweep();
        let counted = queue.counts.add(question.caller.as_ref())?;
        let pending = PendingApproval::new(folder::id()?, question, note);
        Ok(Self {
            queue,
            _guard: queue.store.insert(&pending)?,
            _count: counted,
            expires: pending.expires_at(),
            id: pending.id,
            fingerprint: pending.fingerprint,
            is_over: false,
        })
    }

    /// Returns what the executor waits for.
    pub(super) fn held(self, within: Duration) -> PendingDecision<'a> {
        let (id, expires) = (self.id.as_str().into(), self.expires);
        PendingDecision { id, expires, decision: Box::pin(self.decision(within)) }
    }

    /// Waits for the outcome; writes `Expired` at the end unless somebody decides first.
    async fn decision(mut self, within: Duration) -> Result<PersonDecision, BoxError> {
        let end = Instant::now() + within.min(Duration::from_secs(100 * 365 * 86400));
        loop {
            let changed = self.queue.store.changed().notified();
            if let Some(outcome) = self.queue.store.outcome(&self.id)? {
                return self.take(outcome);
            }
            if Instant::now() >= end {
                let expired = self.outcome(Ruling::Expired);
                let earlier = self.queue.store.expire(&self.id, &expired).await?;
                return self.take(earlier.unwrap_or(expired));
            }
            // Whatever woke this, the store knows.
            let _ = timeout_at(end.min(Instant::now() + LOOK), changed).await;
        }
    }

    fn take(&mut self, outcome: ApprovalOutcome) -> Result<PersonDecision, BoxError> {
        self.is_over = true;
        if outcome.fingerprint != self.fingerprint {
            return Err("the outcome belongs to another approval".into());
        }
        let ApprovalOutcome { decision: ruling, by, reason, .. } = outcome;
        Ok(PersonDecision { ruling, by, reason })
    }

    fn outcome(&self, decision: Ruling) -> ApprovalOutcome {
        let fingerprint = self.fingerprint.clone();
        ApprovalOutcome { decision, by: None, reason: None, decided: Timestamp::now(), fingerprint }
    }
}

impl Drop for HeldCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.queue.store.withdraw(&self.id, self.outcome(Ruling::Withdrawn));
        }
    }
}
