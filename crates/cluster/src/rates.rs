//! Rate limits over all gateways: a caller's allowance is in one place, and gateways take slices of it.
//!
//! A gateway that has a slice counts requests without a round trip. It soon returns what it does not use.

mod allowance;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_access::{Rate, RateVerdict};
use switchboard_workers::{Cluster, names};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use allowance::{Allowance, DrawOutcome};

/// How many slices a rate has: with fewer, NATS is asked less often, but a gateway may hold more that others need.
const SLICES: u32 = 20;
/// How long a gateway keeps an unused slice.
const HOLD: Duration = Duration::from_secs(2);
/// How long to wait for NATS, and so how long a request may wait.
const WAIT: Duration = Duration::from_secs(1);
/// How long NATS is not asked again after the allowance was used up, or NATS did not respond.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an inactive caller is kept in memory.
const FORGET: Duration = Duration::from_secs(60);

/// The rate limits of callers.
pub(crate) struct Rates {
    cluster: Cluster,
    slices: Mutex<HashMap<String, Arc<Counter>>>,
}

/// The slice of one caller at this gateway. Requests wait for each other only while NATS is asked.
type Counter = tokio::sync::Mutex<RateSlice>;

struct RateSlice {
    allowance: Allowance,
    left: u32,
    /// When it was taken, or last used.
    at: Instant,
    /// The last verdict of NATS, and until when it holds.
    settled: Option<(LastVerdict, Instant)>,
}

#[derive(Clone, Copy)]
enum LastVerdict {
    /// The allowance is used up until then.
    Beyond(Instant),
    Unknown,
}

impl Rates {
    /// Creates the rate limits of a cluster.
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), slices: Mutex::default() }
    }

    /// Counts a request of the caller.
    pub(crate) async fn count(&self, caller: &str, rate: Rate) -> RateVerdict {
        let counter = self.counter(caller, rate);
        let mut slice = counter.lock().await;
        slice.count(&self.cluster).await
    }

    /// Returns unused slices. Ends only when dropped.
    pub(crate) async fn keep_tidy(self: Arc<Self>) {
        let mut ticks = interval(HOLD / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.tidy(HOLD).await;
        }
    }

    /// Returns slices that have been unused for `hold`.
    pub(crate) async fn tidy(&self, hold: Duration) {
        let counters: Vec<_> = self.lock().values().cloned().collect();
        for counter in counters {
            // If it is locked, it is in use.
            let Ok(mut slice) = counter.try_lock() else { continue };
            if slice.left > 0 && slice.at.elapsed() >= hold {
                let left = std::mem::take(&mut slice.left);
                // If it cannot be returned, the allowance fills up again with time.
                let given = slice.allowance.give_back(&self.cluster, left);
                let _ = timeout(WAIT, given).await;
            }
        }
        let is_idle = |counter: &Arc<Counter>| {
            Arc::strong_count(counter) == 1
                && counter.try_lock().is_ok_and(|slice| slice.at.elapsed() >= FORGET)
        };
        self.lock().retain(|_, counter| !is_idle(counter));
    }

    fn counter(&self, caller: &str, rate: Rate) -> Arc<Counter> {
        // Each rate has its own allowance.
        let key = format!("{}.{}", names::token(caller), names::token(&rate.to_string()));
        let mut slices = self.lock();
        if let Some(counter) = slices.get(&key) {
            return counter.clone();
        }
        let allowance = Allowance::new(key.clone(), rate);
        let slice = RateSlice { allowance, left: 0, at: Instant::now(), settled: None };
        slices.entry(key).or_insert_with(|| Arc::new(Counter::new(slice))).clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Counter>>> {
        self.slices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RateSlice {
    async fn count(&mut self, cluster: &Cluster) -> RateVerdict {
        let now = Instant::now();
        self.at = now;
        if self.left > 0 {
            self.left -= 1;
            return RateVerdict::Within;
        }
        match self.settled.filter(|(_, until)| *until > now) {
            Some((LastVerdict::Beyond(end), _)) => return RateVerdict::Beyond(end - now),
            Some((LastVerdict::Unknown, _)) => return RateVerdict::Unknown,
            None => {}
        }
        let wanted = (self.allowance.rate().count() / SLICES).max(1);
        let settled = match timeout(WAIT, self.allowance.draw(cluster, wanted)).await {
            Ok(Ok(DrawOutcome::Some(drawn))) => {
                self.left = drawn - 1;
                return RateVerdict::Within;
            }
            Ok(Ok(DrawOutcome::None(wait))) => LastVerdict::Beyond(now + wait),
            Ok(Err(error)) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "counted here alone");
                LastVerdict::Unknown
            }
            Err(_) => LastVerdict::Unknown,
        };
        match settled {
            LastVerdict::Beyond(end) => {
                self.settled = Some((settled, end.min(now + PAUSE)));
                RateVerdict::Beyond(end - now)
            }
            LastVerdict::Unknown => {
                self.settled = Some((settled, Instant::now() + PAUSE));
                RateVerdict::Unknown
            }
        }
    }
}
