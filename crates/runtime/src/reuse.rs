//! Answers that need no new run: an idempotency key used before, a result that may be kept, an identical read under way.
//!
//! Most calls ask for none of this and pass through untouched.

mod flights;

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use switchboard_toolcall::{
    CallContext, ErrorKind, Reused, ToolError, ToolOutput, numbers::canonical,
};

use crate::{
    dispatch,
    record::{CallRecord, Claim, ClaimOutcome, store_unreachable},
    tools::RegisteredTool,
};

pub(crate) use flights::Flights;
use flights::{Flight, Joined, Key, Outcome};

/// How a call gets its answer.
pub(crate) enum Plan<'a> {
    /// The tool runs.
    Run,
    /// The tool runs, and others learn what came of it.
    Lead(Lead<'a>),
    /// The answer is there.
    Answer(Outcome),
}

impl Plan<'_> {
    /// Does `work`, unless the answer is there.
    pub(crate) async fn finish(
        self,
        work: impl Future<Output = Result<ToolOutput, ToolError>>,
    ) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Run => work.await,
            Self::Lead(lead) => {
                let outcome = work.await;
                lead.land(&outcome);
                outcome
            }
            Self::Answer(outcome) => flights::again(&outcome),
        }
    }
}

impl Flights {
    /// Finds out whether the tool has to run.
    pub(crate) async fn plan<'a>(
        &'a self,
        tool: &RegisteredTool,
        args: &Value,
        cx: &CallContext,
        record: &'a CallRecord,
    ) -> Result<Plan<'a>, ToolError> {
        let key = cx.idempotency_key.as_ref();
        let settings = &tool.spec().settings;
        let shares = record.config().share_reads && tool.spec().is_read_only();
        if key.is_none() && settings.cache.is_none() && !shares {
            return Ok(Plan::Run);
        }
        let fingerprint = fingerprint(tool.name(), args);
        let (name, keep) = match key {
            Some(key) => {
                let key = Key::Act(cx.caller.clone(), key.clone());
                (key, Some(record.config().idempotency.0))
            }
            None => {
                // That somebody else asked the same is nothing for a caller who knows of its own calls only.
                let whose = if cx.visibility.watches() { None } else { cx.caller.clone() };
                (Key::Same(whose, fingerprint), settings.cache)
            }
        };
        loop {
            match self.join(&name, fingerprint) {
                Joined::Lead(flight) => {
                    let claim = key.map(|key| record.claim(key.clone(), fingerprint));
                    let lead =
                        Lead { flights: self, record, name, flight, keep, claim, landed: false };
                    return lead.claim(tool, cx).await;
                }
                Joined::Follow(flight) => {
                    let outcome =
                        dispatch::within(async { Ok(flight.outcome().await) }, cx, record);
                    // Where the leader gave up without an outcome, somebody else has to run.
                    let Some(outcome) = outcome.await? else { continue };
                    record.reuses(key.map_or(Reused::Shared, |_| Reused::Replayed));
                    return Ok(Plan::Answer(outcome));
                }
                Joined::Ended(outcome) => {
                    record.reuses(key.map_or(Reused::Cached, |_| Reused::Replayed));
                    return Ok(Plan::Answer(outcome));
                }
                Joined::Other => return Err(key_conflict(key.map_or("", |key| key))),
            }
        }
    }
}

/// The one of several equal calls that runs.
pub(crate) struct Lead<'a> {
    flights: &'a Flights,
    record: &'a CallRecord,
    name: Key,
    flight: Flight,
    /// How long the outcome stands for later calls too.
    keep: Option<std::time::Duration>,
    claim: Option<Claim>,
    landed: bool,
}

impl<'a> Lead<'a> {
    /// Asks the store whether an earlier process, or another one, has the idempotency key.
    async fn claim(
        mut self,
        tool: &RegisteredTool,
        cx: &CallContext,
    ) -> Result<Plan<'a>, ToolError> {
        let Some(claim) = &self.claim else { return Ok(Plan::Lead(self)) };
        let Some(store) = &self.record.sinks().idempotency else { return Ok(Plan::Lead(self)) };
        let claimed = store.claim(claim);
        let claimed = dispatch::within(async { Ok(claimed.await) }, cx, self.record).await?;
        let key = &claim.key;
        let error = match claimed {
            Ok(ClaimOutcome::First) => return Ok(Plan::Lead(self)),
            Ok(ClaimOutcome::Ended(_, outcome)) => {
                self.record.reuses(Reused::Replayed);
                let outcome = Arc::new(outcome);
                self.claim = None;
                self.keep(outcome.clone());
                return Ok(Plan::Answer(outcome));
            }
            Ok(ClaimOutcome::Running(id)) => ToolError::new(
                ErrorKind::Unavailable,
                format!(
                    "The call with idempotency key '{key}' still runs elsewhere, as {id}; ask again later"
                ),
            ),
            Ok(ClaimOutcome::Unknown(id)) => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "The call with idempotency key '{key}' was in flight when its process died ({id}); \
                     whether it happened is not known"
                ),
            ),
            Ok(ClaimOutcome::Other(_)) => key_conflict(key),
            Err(error) => store_unreachable(tool.name(), error, cx),
        };
        // What was refused was not claimed.
        self.claim = None;
        Err(error)
    }

    /// Tells what came of the run.
    fn land(mut self, outcome: &Result<ToolOutput, ToolError>) {
        let is_act = matches!(self.name, Key::Act(..));
        let is_own = |kind| {
            matches!(kind, ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::Overloaded)
        };
        let stands = match outcome {
            Ok(_) => true,
            Err(error) if is_act => error.kind != ErrorKind::Overloaded,
            // The leader's own deadline says nothing about those who follow.
            Err(error) => !is_own(error.kind),
        };
        if stands && (!is_act || self.record.was_dispatched()) {
            let keep_for_later = is_act || outcome.is_ok();
            let outcome = Arc::new(flights::again(outcome));
            match keep_for_later {
                true => self.keep(outcome),
                false => self.tell(outcome),
            }
        }
    }

    fn keep(&mut self, outcome: Outcome) {
        self.landed = true;
        self.flights.land(&self.name, &self.flight, outcome, self.keep);
    }

    fn tell(&mut self, outcome: Outcome) {
        self.landed = true;
        self.flights.land(&self.name, &self.flight, outcome, None);
    }
}

impl Drop for Lead<'_> {
    /// The caller walked away, or the tool never began: those who follow have to see for themselves.
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        match &self.claim {
            Some(_) if self.record.was_dispatched() => {
                let text = format!(
                    "Tool '{}' was cancelled; side effects may have happened",
                    self.record.name()
                );
                self.keep(Arc::new(Err(ToolError::new(ErrorKind::Cancelled, text))));
            }
            Some(claim) => {
                if let Some(store) = &self.record.sinks().idempotency {
                    store.release(claim);
                }
                self.flights.abandon(&self.name, &self.flight);
            }
            None => self.flights.abandon(&self.name, &self.flight),
        }
    }
}

/// The error of a call under an idempotency key that stands for another call.
pub fn key_conflict(key: &str) -> ToolError {
    let text = format!("Idempotency key '{key}' was used for a call with other arguments");
    ToolError::new(ErrorKind::InvalidParameters, text)
        .with_hint("Use a new key for a new act, and the same key only to repeat one.")
}

/// The same for the same tool and arguments, however they are written.
pub fn fingerprint(tool: &str, args: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tool.as_bytes());
    hasher.update([0]);
    hasher.update(canonical(args).to_string().as_bytes());
    hasher.finalize().into()
}
