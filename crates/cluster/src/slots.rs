//! How many requests a caller has at once, counted over all gateways.
//!
//! Each caller has an entry in NATS that says how many slots each gateway holds; it is changed by compare-and-set, and slots
//! of gateways that are gone do not count. A gateway keeps a slot for a moment after a request, so that the next one
//! costs no round trip, and a gateway that finds all slots taken waits longer than that.

mod holders;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_access::{PeerSlot, SlotVerdict};
use switchboard_workers::{Cluster, names};
use tokio::{
    sync::Notify,
    time::{Instant, interval, sleep, timeout},
};

use crate::gateways::Gateways;
use holders::SlotHolders;

/// How often slots are given back that were not used since the last time.
const KEEP: Duration = Duration::from_millis(200);
/// How long a request waits for a slot: longer than others keep unused ones, which is twice `KEEP` at most.
const WAIT: Duration = Duration::from_millis(600);
/// How often a waiting request looks for a free slot.
const LOOK: Duration = Duration::from_millis(100);
/// How often the gateway checks whether others may count it as dead.
const COUNTED: Duration = Duration::from_secs(1);
/// How long to wait for NATS.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long NATS is not asked again after there was no slot, or NATS did not respond.
const PAUSE: Duration = Duration::from_millis(500);

/// The slots of callers.
pub(crate) struct RequestSlots {
    cluster: Cluster,
    gateways: Arc<Gateways>,
    callers: Mutex<HashMap<String, Arc<CallerSlots>>>,
    /// Notified when a slot is no longer used.
    unused: Arc<Notify>,
}

/// The slots of one caller at this gateway.
struct CallerSlots {
    counts: Mutex<SlotCounts>,
    /// What is stored in NATS; locked while it is changed.
    holders: tokio::sync::Mutex<SlotHolders>,
}

struct SlotCounts {
    /// How many slots this gateway may use.
    held: usize,
    /// How many requests run.
    used: usize,
    /// How many ran at most since slots were last given back.
    peak: usize,
    /// The gaps of the gateway when the slots were taken: after another one, others may have them.
    gaps: u64,
    /// The last verdict that gave no slot, and until when it holds.
    settled: Option<(NoSlot, Instant)>,
}

#[derive(Clone, Copy)]
enum NoSlot {
    Full,
    Unknown,
}

impl RequestSlots {
    pub(crate) fn new(cluster: &Cluster, gateways: Arc<Gateways>) -> Self {
        let (callers, unused) = (Mutex::default(), Arc::default());
        Self { cluster: cluster.clone(), gateways, callers, unused }
    }

    /// Takes a slot for a request of the caller, who may have `most` of them.
    pub(crate) async fn take(&self, caller: &str, most: usize) -> SlotVerdict {
        // Others would not count what a gateway holds that they take for gone.
        let Some(gaps) = self.gateways.gaps() else { return SlotVerdict::Unknown };
        let caller = self.caller(caller, gaps);
        if let Some(slot) = self.take_held(&caller, gaps) {
            return SlotVerdict::Taken(slot);
        }
        let end = Instant::now() + WAIT;
        let mut holders = caller.holders.lock().await;
        loop {
            // One may have been released here, or taken by the request before this one.
            if let Some(slot) = self.take_held(&caller, gaps) {
                return SlotVerdict::Taken(slot);
            }
            match caller.settled() {
                Some(NoSlot::Full) => return SlotVerdict::Full,
                Some(NoSlot::Unknown) => return SlotVerdict::Unknown,
                None => {}
            }
            let taken = self.take_more(&caller, &mut holders, gaps, most);
            match timeout(PATIENCE, taken).await {
                // More than one may have been taken.
                Ok(Ok(true)) => self.unused.notify_one(),
                Ok(Ok(false)) if Instant::now() < end => sleep(LOOK).await,
                Ok(Ok(false)) => caller.settle(NoSlot::Full),
                Ok(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(error, "requests are counted here alone");
                    caller.settle(NoSlot::Unknown);
                    self.unused.notify_one();
                }
                Err(_) => {
                    caller.settle(NoSlot::Unknown);
                    self.unused.notify_one();
                }
            }
        }
    }

    /// Gives back slots that are not used. Ends only when dropped.
    pub(crate) async fn keep_tidy(self: Arc<Self>) {
        loop {
            self.unused.notified().await;
            let mut has_more = true;
            while has_more {
                sleep(KEEP).await;
                has_more = self.tidy(false).await;
            }
        }
    }

    /// Stores what is used again after others may have taken this gateway for gone. Ends only when dropped.
    pub(crate) async fn keep_counted(self: Arc<Self>) {
        let (mut looks, mut stored) = (interval(COUNTED), None);
        loop {
            looks.tick().await;
            let gaps = self.gateways.gaps();
            if let Some(gaps) = gaps.filter(|gaps| stored != Some(*gaps)) {
                self.count_again(gaps).await;
                stored = Some(gaps);
            }
        }
    }

    async fn count_again(&self, gaps: u64) {
        let callers: Vec<_> = self.lock().values().cloned().collect();
        for caller in callers {
            let mut holders = caller.holders.lock().await;
            let held = {
                let mut counts = caller.counts();
                if counts.gaps == gaps {
                    continue;
                }
                // Others may have what was held, but not what is used.
                (counts.held, counts.gaps) = (counts.used, gaps);
                counts.held
            };
            holders.forget();
            let given = holders.set(&self.cluster, &self.gateways, held);
            if !matches!(timeout(PATIENCE, given).await, Ok(Ok(()))) {
                // It is tried again with what is given back.
                self.unused.notify_one();
            }
        }
    }

    /// Gives back the slots that were not used since the last time; with `now` all that are not used. Returns whether there
    /// is more to give back later.
    pub(crate) async fn tidy(&self, now: bool) -> bool {
        let callers: Vec<_> = self.lock().values().cloned().collect();
        let mut has_more = false;
        for caller in callers {
            // If it is locked, a request needs what there is.
            let Ok(mut holders) = caller.holders.try_lock() else {
                has_more = true;
                continue;
            };
            let held = {
                let mut counts = caller.counts();
                let needed = if now { counts.used } else { counts.peak.max(counts.used) };
                (counts.held, counts.peak) = (counts.held.min(needed), counts.used);
                has_more |= counts.held > counts.used;
                counts.held
            };
            if !holders.has(held) {
                let given = holders.set(&self.cluster, &self.gateways, held);
                // If NATS is away, it is tried again.
                has_more |= !matches!(timeout(PATIENCE, given).await, Ok(Ok(())));
            }
        }
        // A request that has the caller in hand keeps it.
        self.lock().retain(|_, caller| Arc::strong_count(caller) > 1 || !caller.is_idle());
        has_more
    }

    /// Takes slots in NATS, if there are any. Returns whether there were.
    async fn take_more(
        &self,
        caller: &CallerSlots,
        holders: &mut SlotHolders,
        gaps: u64,
        most: usize,
    ) -> Result<bool, crate::Error> {
        let base = {
            let mut counts = caller.counts();
            if counts.gaps != gaps {
                // Others may have what was held, but not what is used.
                counts.held = counts.used;
            }
            counts.held
        };
        let taken = holders.add(&self.cluster, &self.gateways, base, most).await?;
        let mut counts = caller.counts();
        (counts.held, counts.gaps) = (base + taken, gaps);
        Ok(taken > 0)
    }

    /// Takes a slot that this gateway holds.
    fn take_held(&self, caller: &Arc<CallerSlots>, gaps: u64) -> Option<PeerSlot> {
        let mut counts = caller.counts();
        if counts.gaps != gaps || counts.used >= counts.held {
            return None;
        }
        counts.used += 1;
        counts.peak = counts.peak.max(counts.used);
        let (caller, unused) = (caller.clone(), self.unused.clone());
        Some(PeerSlot::new(move || {
            let mut counts = caller.counts();
            counts.used -= 1;
            drop(counts);
            unused.notify_one();
        }))
    }

    fn caller(&self, caller: &str, gaps: u64) -> Arc<CallerSlots> {
        let mut callers = self.lock();
        if let Some(known) = callers.get(caller) {
            return known.clone();
        }
        let counts = SlotCounts { held: 0, used: 0, peak: 0, gaps, settled: None };
        // Rates have keys of two tokens in the same bucket.
        let key = format!("{}.slots.held", names::token(caller));
        let holders = tokio::sync::Mutex::new(SlotHolders::new(key));
        let new = Arc::new(CallerSlots { counts: Mutex::new(counts), holders });
        callers.insert(caller.to_owned(), new.clone());
        new
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<CallerSlots>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerSlots {
    fn counts(&self) -> MutexGuard<'_, SlotCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settled(&self) -> Option<NoSlot> {
        let now = Instant::now();
        self.counts().settled.filter(|(_, until)| *until > now).map(|(verdict, _)| verdict)
    }

    fn settle(&self, verdict: NoSlot) {
        self.counts().settled = Some((verdict, Instant::now() + PAUSE));
    }

    /// Whether this gateway holds nothing of it, and nothing needs to be remembered.
    fn is_idle(&self) -> bool {
        let is_stored = !self.holders.try_lock().is_ok_and(|holders| holders.has(0));
        let counts = self.counts();
        let is_settled = counts.settled.is_some_and(|(_, until)| until > Instant::now());
        counts.held == 0 && counts.used == 0 && !is_settled && !is_stored
    }
}
