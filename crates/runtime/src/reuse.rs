//! Results that need no new run: an idempotency key used before, a cached result, an identical read in flight.
//!
//! Most calls use none of this and pass through untouched.

mod flights;

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use switchboard_toolcall::{
    CallContext, ErrorKind, ReuseReason, ToolError, ToolOutput, numbers::canonical,
};

use crate::{
    dispatch,
    record::{CallRecord, Claim, ClaimOutcome, store_unreachable},
    tools::RegisteredTool,
};

pub(crate) use flights::Flights;
use flights::{Flight, FlightKey, JoinOutcome, SharedOutcome};

/// How a call gets its result.
pub(crate) enum ReusePlan<'a> {
    /// The tool runs.
    Run,
    /// The tool runs, and identical calls get its outcome.
    Lead(LeaderCall<'a>),
    /// The outcome is known already.
    Reuse(SharedOutcome),
}

impl ReusePlan<'_> {
    /// Runs `work`, unless the outcome is known already.
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
            Self::Reuse(outcome) => flights::again(&outcome),
        }
    }
}

impl Flights {
    /// Decides whether the tool has to run.
    pub(crate) async fn plan<'a>(
        &'a self,
        tool: &RegisteredTool,
        args: &Value,
        cx: &CallContext,
        record: &'a CallRecord,
    ) -> Result<ReusePlan<'a>, ToolError> {
        let key = cx.idempotency_key.as_ref();
        let settings = &tool.spec().settings;
        let shares = record.config().share_reads && tool.spec().is_read_only();
        if key.is_none() && settings.cache.is_none() && !shares {
            return Ok(ReusePlan::Run);
        }
        let mut fingerprint = match tool.is_renamed() {
            // Errors name the tool, so they are not shared with callers who know it by another name.
            true => fingerprint(&format!("{}\0{}", tool.full_name(), tool.name()), args),
            false => fingerprint(tool.name(), args),
        };
        if settings.per_caller {
            // What one caller gets is never an answer for another, whatever their names are.
            let Some(principal) = cx.principal.key() else { return Ok(ReusePlan::Run) };
            fingerprint = of_principal(fingerprint, &principal);
        }
        let (name, keep) = match key {
            Some(key) => {
                let key = FlightKey::Act(cx.caller.clone(), key.clone());
                (key, Some(record.config().idempotency.0))
            }
            None => {
                // A caller who may only know of its own calls must not learn that somebody else made the same call.
                let whose = if cx.visibility.watches() { None } else { cx.caller.clone() };
                (FlightKey::Same(whose, fingerprint), settings.cache)
            }
        };
        loop {
            match self.join(&name, fingerprint) {
                JoinOutcome::Lead(flight) => {
                    let claim = key.map(|key| record.claim(key.clone(), fingerprint));
                    let lead = LeaderCall {
                        flights: self,
                        record,
                        name,
                        flight,
                        keep,
                        claim,
                        landed: false,
                    };
                    return lead.claim(tool, cx).await;
                }
                JoinOutcome::Follow(flight) => {
                    let outcome =
                        dispatch::within(async { Ok(flight.outcome().await) }, cx, record);
                    // If the leader was dropped without an outcome, another call has to run.
                    let Some(outcome) = outcome.await? else { continue };
                    record.reuses(key.map_or(ReuseReason::Shared, |_| ReuseReason::Replayed));
                    return Ok(ReusePlan::Reuse(outcome));
                }
                JoinOutcome::Ended(outcome) => {
                    record.reuses(key.map_or(ReuseReason::Cached, |_| ReuseReason::Replayed));
                    return Ok(ReusePlan::Reuse(outcome));
                }
                JoinOutcome::Other => return Err(key_conflict(key.map_or("", |key| key))),
            }
        }
    }
}

/// The one of several identical calls that runs.
pub(crate) struct LeaderCall<'a> {
    flights: &'a Flights,
    record: &'a CallRecord,
    name: FlightKey,
    flight: Flight,
    /// How long later calls may reuse the outcome.
    keep: Option<std::time::Duration>,
    claim: Option<Claim>,
    landed: bool,
}

impl<'a> LeaderCall<'a> {
    /// Checks whether another process, or an earlier one, used the idempotency key.
    async fn claim(
        mut self,
        tool: &RegisteredTool,
        cx: &CallContext,
    ) -> Result<ReusePlan<'a>, ToolError> {
        let Some(claim) = &self.claim else { return Ok(ReusePlan::Lead(self)) };
        let Some(store) = &self.record.sinks().idempotency else {
            return Ok(ReusePlan::Lead(self));
        };
        let claimed = store.claim(claim);
        let claimed = dispatch::within(async { Ok(claimed.await) }, cx, self.record).await?;
        let key = &claim.key;
        let error = match claimed {
            Ok(ClaimOutcome::First) => return Ok(ReusePlan::Lead(self)),
            Ok(ClaimOutcome::Ended(_, outcome)) => {
                self.record.reuses(ReuseReason::Replayed);
                let outcome = Arc::new(outcome);
                self.claim = None;
                self.keep(outcome.clone());
                return Ok(ReusePlan::Reuse(outcome));
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
            Ok(ClaimOutcome::NotKept(id)) => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "The call with idempotency key '{key}' has ended ({id}); its result is not kept as it was"
                ),
            )
            .with_hint("Its record has what is kept: the outcome, and the result without secrets."),
            Ok(ClaimOutcome::Other(_)) => key_conflict(key),
            Err(error) => store_unreachable(tool.name(), error, cx),
        };
        // A refused claim does not need to be released.
        self.claim = None;
        Err(error)
    }

    /// Passes the outcome to the calls that wait for it.
    fn land(mut self, outcome: &Result<ToolOutput, ToolError>) {
        let is_act = matches!(self.name, FlightKey::Act(..));
        let is_own = |kind| {
            matches!(kind, ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::Overloaded)
        };
        let stands = match outcome {
            Ok(_) => true,
            Err(error) if is_act => error.kind != ErrorKind::Overloaded,
            // The leader's own deadline does not apply to the calls that follow it.
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

    fn keep(&mut self, outcome: SharedOutcome) {
        self.landed = true;
        self.flights.land(&self.name, &self.flight, outcome, self.keep);
    }

    fn tell(&mut self, outcome: SharedOutcome) {
        self.landed = true;
        self.flights.land(&self.name, &self.flight, outcome, None);
    }
}

impl Drop for LeaderCall<'_> {
    /// If the caller dropped the call, or the tool never started, another call has to run.
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

/// Returns the error of a call whose idempotency key was used for another call.
pub fn key_conflict(key: &str) -> ToolError {
    let text = format!("Idempotency key '{key}' was used for a call with other arguments");
    ToolError::new(ErrorKind::InvalidParameters, text)
        .with_hint("Use a new key for a new act, and the same key only to repeat one.")
}

fn of_principal(fingerprint: [u8; 32], principal: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(fingerprint);
    hasher.update(principal.as_bytes());
    hasher.finalize().into()
}

/// Hashes a tool and its arguments, independent of how they are formatted.
pub fn fingerprint(tool: &str, args: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tool.as_bytes());
    hasher.update([0]);
    hasher.update(canonical(args).to_string().as_bytes());
    hasher.finalize().into()
}
