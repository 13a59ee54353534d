//! What a token may spend: the cost of its runs of the last 24 hours, as their records have it (SPEC RN-4).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::StatusCode;
use switchboard_access::{Caller, CostBudget};
use switchboard_agent::{Agent, RunCosts};
use tokio::task::spawn_blocking;

use super::failure::ChatFailure;
use crate::gateway::Parts;

/// The time for which a budget is.
const PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// What runs cost, as far as it was read.
pub(super) type KnownCosts = Arc<Mutex<RunCosts>>;

/// Returns what a caller may still spend; `None` if it has no budget.
///
/// # Errors
/// The budget is spent, or what the model costs cannot be known.
pub(super) async fn left(
    parts: &Parts,
    caller: &Caller,
    agent: &Agent,
) -> Result<Option<f64>, ChatFailure> {
    let Some(CostBudget { most, since }) = caller.cost_budget else { return Ok(None) };
    let unknown = |why: &str| {
        let text = format!("this token has a cost budget, and {why}");
        let failure = ChatFailure::new(StatusCode::FORBIDDEN, text);
        Err(ChatFailure { is_final: true, ..failure }.coded("cost_unknown"))
    };
    if agent.price().is_none() {
        return unknown("the model has no `price` in the config");
    }
    let Some(runs) = parts.models.runs() else {
        return unknown("runs are not recorded, so nobody knows what it spent");
    };
    let name = caller.name.clone().unwrap_or_default();
    let begin = SystemTime::now().checked_sub(PERIOD).unwrap_or(UNIX_EPOCH).max(since);
    let begin = begin.duration_since(UNIX_EPOCH).unwrap_or_default();
    let begin = u64::try_from(begin.as_millis()).unwrap_or(u64::MAX);
    let costs = parts.models.costs.clone();
    let spent = spawn_blocking(move || {
        let mut costs = costs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.spent(&name, begin, &mut costs)
    });
    let unreadable = |error: String| {
        tracing::error!(error, "what a token spent cannot be read");
        let text = "the records of runs cannot be read, so nobody knows what this token spent";
        ChatFailure::new(StatusCode::SERVICE_UNAVAILABLE, text).coded("run_not_readable")
    };
    let spent = spent.await.map_err(|error| unreadable(error.to_string()))?;
    let spent = spent.map_err(|error| unreadable(error.to_string()))?;
    if spent < most {
        return Ok(Some(most - spent));
    }
    let text = format!(
        "this token has spent its cost budget: {spent} of {most} in the last 24 hours; \
         `switchboard token new --cost-budget` makes one with more"
    );
    let failure = ChatFailure::new(StatusCode::TOO_MANY_REQUESTS, text);
    Err(ChatFailure { is_final: true, ..failure }.coded("cost_budget_spent"))
}
