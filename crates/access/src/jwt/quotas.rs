//! The quota of each JWT caller. All tokens of a caller share one: a new token is easy to get.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::JwtConfig;
use crate::rate::{Quota, Rate};

/// How many quotas are kept before unused ones are removed.
const FEW: usize = 1024;

/// The quotas by caller.
pub(super) struct CallerQuotas {
    rate: Option<Rate>,
    concurrent: usize,
    state: Mutex<CallerQuotasState>,
}

struct CallerQuotasState {
    by_name: HashMap<Arc<str>, Arc<Quota>>,
    /// At how many the next cleanup is due.
    look_at: usize,
}

impl CallerQuotas {
    pub(super) fn new(config: &JwtConfig) -> Self {
        let state = CallerQuotasState { by_name: HashMap::new(), look_at: FEW };
        Self { rate: config.rate, concurrent: config.concurrent, state: Mutex::new(state) }
    }

    /// Returns the quota of the caller.
    pub(super) fn of(&self, name: &Arc<str>) -> Arc<Quota> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(quota) = state.by_name.get(name) {
            return quota.clone();
        }
        if state.by_name.len() >= state.look_at {
            // A full one is as good as a new one.
            state.by_name.retain(|_, quota| !quota.is_whole());
            state.look_at = FEW.max(2 * state.by_name.len());
        }
        let quota = Arc::new(Quota::new(self.rate, Some(self.concurrent)));
        state.by_name.insert(name.clone(), quota.clone());
        quota
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn shares(more: &str) -> CallerQuotas {
        let mut config = json!({"issuer": "i", "audience": "a"});
        config["rate"] = more.into();
        CallerQuotas::new(&serde_json::from_value(config).unwrap())
    }

    fn quota_count(shares: &CallerQuotas) -> usize {
        shares.state.lock().unwrap().by_name.len()
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn a_share_is_a_callers_and_not_forgotten_while_it_is_used() {
        let shares = shares("1/m");
        let name: Arc<str> = "jwt:ada".into();
        let held = shares.of(&name).take(&name).unwrap();
        assert!(shares.of(&name).take(&name).is_err(), "used up");
        for number in 0..5000 {
            let other: Arc<str> = format!("jwt:{number}").into();
            assert!(shares.of(&other).take(&other).is_ok(), "somebody else's");
        }
        assert!(shares.of(&name).take(&name).is_err(), "still used up");
        tokio::time::advance(Duration::from_secs(61)).await;
        for number in 5000..20_000 {
            shares.of(&format!("jwt:{number}").into());
        }
        assert!(quota_count(&shares) < 12_000, "{}", quota_count(&shares));
        let kept = shares.state.lock().unwrap().by_name.contains_key(&name);
        assert!(kept, "one of its requests still runs");
        drop(held);
        assert!(shares.of(&name).take(&name).is_ok());
    }
}
