//! A question that waits for its answer.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use switchboard_runtime::{
    Ruling,
    approval::{Decision, Held, Question},
};
use switchboard_toolcall::BoxError;
use tokio::time::{Instant, timeout_at};

use super::{Desk, counts::Counted};
use crate::{
    error::Error,
    folder,
    place::Laid,
    question::{Answer, Pending},
};

/// How often an answer of another process is looked for. Those of this one are heard at once.
const LOOK: Duration = Duration::from_millis(200);

/// A question that lies on the desk until this is dropped.
pub(super) struct Waiting<'a> {
    desk: &'a Desk,
    id: String,
    fingerprint: String,
    expires: SystemTime,
    _laid: Laid,
    _counted: Counted<'a>,
    is_over: bool,
}

impl<'a> Waiting<'a> {
    /// Lays the question down.
    ///
    /// # Errors
    /// There is no place for it, or too many wait.
    pub(super) fn lay(
        desk: &'a Desk,
        question: &Question,
        note: Option<String>,
    ) -> Result<Self, Error> {
        desk.sweep();
        let counted = desk.waiting.add(question.caller.as_ref())?;
        let pending = Pending::new(folder::id()?, question, note);
        Ok(Self {
            desk,
            _laid: desk.place.lay(&pending)?,
            _counted: counted,
            expires: pending.expires_at(),
            id: pending.id,
            fingerprint: pending.fingerprint,
            is_over: false,
        })
    }

    /// The question as the executor waits for it.
    pub(super) fn held(self, within: Duration) -> Held<'a> {
        let (id, expires) = (self.id.as_str().into(), self.expires);
        Held { id, expires, decision: Box::pin(self.decision(within)) }
    }

    /// Waits for the answer; when the time is over that is the answer, unless somebody is just faster.
    async fn decision(mut self, within: Duration) -> Result<Decision, BoxError> {
        let end = Instant::now() + within.min(Duration::from_secs(100 * 365 * 86400));
        loop {
            let heard = self.desk.place.bell().notified();
            if let Some(answer) = self.desk.place.answer(&self.id)? {
                return self.take(answer);
            }
            if Instant::now() >= end {
                let expired = self.answer(Ruling::Expired);
                let earlier = self.desk.place.end(&self.id, &expired).await?;
                return self.take(earlier.unwrap_or(expired));
            }
            // Whether it is the bell, the clock or nothing at all: the folder knows.
            let _ = timeout_at(end.min(Instant::now() + LOOK), heard).await;
        }
    }

    fn take(&mut self, answer: Answer) -> Result<Decision, BoxError> {
        self.is_over = true;
        if answer.fingerprint != self.fingerprint {
            return Err("the answer is one to another question".into());
        }
        let Answer { decision: ruling, by, reason, .. } = answer;
        Ok(Decision { ruling, by, reason })
    }

    fn answer(&self, decision: Ruling) -> Answer {
        let fingerprint = self.fingerprint.clone();
        Answer { decision, by: None, reason: None, decided: Timestamp::now(), fingerprint }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.desk.place.withdraw(&self.id, self.answer(Ruling::Withdrawn));
        }
    }
}
