//! Calls in flight, and outcomes that are cached for a while.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_toolcall::{ToolError, ToolOutput};
use tokio::{sync::watch, time::Instant};

/// How many bytes are cached at most; the oldest are dropped.
const MOST_BYTES: usize = 64 << 20;
/// How many outcomes are cached at most.
const MOST: usize = 100_000;

/// A call's outcome, shared by all that wait for it.
pub(crate) type SharedOutcome = Arc<Result<ToolOutput, ToolError>>;

/// What makes two calls identical.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlightKey {
    /// The caller's idempotency key.
    Act(Option<Arc<str>>, Arc<str>),
    /// The same tool with the same arguments, for everybody or for one caller.
    Same(Option<Arc<str>>, [u8; 32]),
}

/// Calls in flight and cached outcomes.
#[derive(Default)]
pub(crate) struct Flights(Mutex<FlightsState>);

#[derive(Default)]
struct FlightsState {
    by_key: HashMap<FlightKey, FlightEntry>,
    /// Cached outcomes, oldest first, with their sizes; some may be gone already.
    kept: VecDeque<(FlightKey, Flight, usize)>,
    bytes: usize,
}

struct FlightEntry {
    fingerprint: [u8; 32],
    flight: Flight,
    /// Until when the outcome may be reused; `None` while the call runs.
    until: Option<Instant>,
}

/// One run that several calls wait for. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Flight(Arc<watch::Sender<FlightProgress>>);

/// The state of a flight.
enum FlightProgress {
    Running,
    Landed(SharedOutcome),
    Abandoned,
}

/// The outcome of joining a flight.
pub(crate) enum JoinOutcome {
    /// No result can be reused: the call has to run.
    Lead(Flight),
    /// The call is in flight.
    Follow(Flight),
    /// The outcome is cached.
    Ended(SharedOutcome),
    /// The key was used for another call.
    Other,
}

impl Flight {
    /// Waits for the outcome. Returns `None` if the running call was dropped.
    pub(crate) async fn outcome(&self) -> Option<SharedOutcome> {
        let mut state = self.0.subscribe();
        let ended = |state: &FlightProgress| !matches!(state, FlightProgress::Running);
        // We hold the sender, so the channel is open.
        match &*state.wait_for(ended).await.ok()? {
            FlightProgress::Landed(outcome) => Some(outcome.clone()),
            _ => None,
        }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, FlightsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the flight with this key, or starts one.
    pub(crate) fn join(&self, key: &FlightKey, fingerprint: [u8; 32]) -> JoinOutcome {
        let mut state = self.lock();
        if let Some(entry) = state.by_key.get(key) {
            let stands = entry.until.is_none_or(|until| Instant::now() < until);
            if stands && entry.fingerprint != fingerprint {
                return JoinOutcome::Other;
            }
            if stands {
                return match &*entry.flight.0.borrow() {
                    FlightProgress::Landed(outcome) => JoinOutcome::Ended(outcome.clone()),
                    _ => JoinOutcome::Follow(entry.flight.clone()),
                };
            }
        }
        let flight = Flight(Arc::new(watch::Sender::new(FlightProgress::Running)));
        let entry = FlightEntry { fingerprint, flight: flight.clone(), until: None };
        state.by_key.insert(key.clone(), entry);
        JoinOutcome::Lead(flight)
    }

    /// Passes the outcome to the waiting calls, and caches it for as long as `keep` says.
    pub(crate) fn land(
        &self,
        key: &FlightKey,
        flight: &Flight,
        outcome: SharedOutcome,
        keep: Option<Duration>,
    ) {
        let size = size(&outcome);
        let mut state = self.lock();
        match keep.and_then(|keep| Instant::now().checked_add(keep)) {
            Some(until) if size <= MOST_BYTES => state.keep(key, flight, size, until),
            _ => state.forget(key, flight),
        }
        drop(state);
        flight.0.send_replace(FlightProgress::Landed(outcome));
    }

    /// Lets the waiting calls know that there will be no outcome.
    pub(crate) fn abandon(&self, key: &FlightKey, flight: &Flight) {
        self.lock().forget(key, flight);
        flight.0.send_replace(FlightProgress::Abandoned);
    }
}

impl FlightsState {
    fn keep(&mut self, key: &FlightKey, flight: &Flight, size: usize, until: Instant) {
        let Some(entry) = self.by_key.get_mut(key).filter(|entry| entry.flight.is(flight)) else {
            return;
        };
        entry.until = Some(until);
        self.kept.push_back((key.clone(), flight.clone(), size));
        self.bytes += size;
        while self.bytes > MOST_BYTES || self.kept.len() > MOST || self.is_oldest_over() {
            let Some((key, flight, size)) = self.kept.pop_front() else { break };
            self.bytes -= size;
            self.forget(&key, &flight);
        }
    }

    /// Returns whether the oldest cached outcome has expired.
    fn is_oldest_over(&self) -> bool {
        let Some((key, flight, _)) = self.kept.front() else { return false };
        match self.by_key.get(key).filter(|entry| entry.flight.is(flight)) {
            Some(entry) => entry.until.is_some_and(|until| until <= Instant::now()),
            None => true,
        }
    }

    fn forget(&mut self, key: &FlightKey, flight: &Flight) {
        if self.by_key.get(key).is_some_and(|entry| entry.flight.is(flight)) {
            self.by_key.remove(key);
        }
    }
}

/// Copies an outcome for another call; the cause of an error stays with the first.
pub(crate) fn again(outcome: &Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    match outcome {
        Ok(output) => Ok(output.clone()),
        Err(error) => {
            let mut again = ToolError::new(error.kind, &error.for_model);
            again.hint.clone_from(&error.hint);
            again.output.clone_from(&error.output);
            Err(again)
        }
    }
}

/// Returns the size of the outcome as compact JSON in bytes, before any truncation.
fn size(outcome: &Result<ToolOutput, ToolError>) -> usize {
    let json = match outcome {
        Ok(ToolOutput::Value(value)) => serde_json::to_string(value),
        Ok(ToolOutput::Content(content)) => serde_json::to_string(content),
        Err(error) => return error.for_model.len(),
    };
    json.map_or(0, |json| json.len())
}
