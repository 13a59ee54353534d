//! What the runs of a caller cost.

use std::collections::HashMap;

use switchboard_toolcall::CallId;

use super::{RunError, RunState, RunStore, RunSummary};

/// What runs that have ended cost, and who asked, so that no file is read twice.
#[derive(Debug, Default)]
pub struct RunCosts(HashMap<CallId, RunCost>);

#[derive(Clone, Debug)]
struct RunCost {
    caller: Option<String>,
    cost: f64,
}

impl RunStore {
    /// Returns what the runs of a caller cost that began at `since`, in milliseconds since 1970, or later, as far as their
    /// models have prices. Runs that are under way count as far as they are.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn spent(&self, caller: &str, since: u64, costs: &mut RunCosts) -> Result<f64, RunError> {
        let is_recent = |id: &CallId| began(*id) >= since;
        costs.0.retain(|id, _| is_recent(id));
        let ids = self.ids()?.into_iter().rev().take_while(is_recent);
        let all = ids.filter_map(|id| costs.of(id, self));
        Ok(all.filter(|run| run.caller.as_deref() == Some(caller)).map(|run| run.cost).sum())
    }
}

impl RunCosts {
    /// Returns what a run cost; `None` if its file was removed meanwhile.
    fn of(&mut self, id: CallId, store: &RunStore) -> Option<RunCost> {
        if let Some(known) = self.0.get(&id) {
            return Some(known.clone());
        }
        let RunSummary { caller, cost, state, .. } = store.summary(id).ok()?;
        let run = RunCost { caller, cost: cost.unwrap_or_default() };
        if !matches!(state, RunState::Running | RunState::Interrupted) {
            self.0.insert(id, run.clone());
        }
        Some(run)
    }
}

/// When a run began: the first 48 bits of its id are the time in milliseconds.
fn began(id: CallId) -> u64 {
    u64::try_from(id.number() >> 80).unwrap_or_default()
}
