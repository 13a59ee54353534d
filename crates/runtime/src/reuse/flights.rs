//! Which calls are under way, and which outcomes are kept for a while.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_toolcall::{ToolError, ToolOutput};
use tokio::{sync::watch, time::Instant};

/// How much is kept at most; the oldest gives way.
const MOST_BYTES: usize = 64 << 20;
/// How many outcomes are kept at most.
const MOST: usize = 100_000;

/// What came of a call, for all who wait for it.
pub(crate) type Outcome = Arc<Result<ToolOutput, ToolError>>;

/// What makes two calls one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A caller's word for an act.
    Act(Option<Arc<str>>, Arc<str>),
    /// The same tool with the same arguments, for everybody or for one caller.
    Same(Option<Arc<str>>, [u8; 32]),
}

/// Calls under way and outcomes that are kept.
#[derive(Default)]
pub(crate) struct Flights(Mutex<State>);

#[derive(Default)]
struct State {
    by_key: HashMap<Key, Entry>,
    /// Those that are kept, oldest first, with the size of each; some may be gone already.
    kept: VecDeque<(Key, Flight, usize)>,
    bytes: usize,
}

struct Entry {
    fingerprint: [u8; 32],
    flight: Flight,
    /// Until when the outcome stands; none while the call runs.
    until: Option<Instant>,
}

/// One run that several calls wait for. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Flight(Arc<watch::Sender<Progress>>);

/// How far a flight is.
enum Progress {
    Running,
    Landed(Outcome),
    Abandoned,
}

/// What a call finds when it comes.
pub(crate) enum Joined {
    /// Nobody runs it: the call has to.
    Lead(Flight),
    /// Somebody runs it.
    Follow(Flight),
    /// It ran a while ago.
    Ended(Outcome),
    /// The key stands for something else.
    Other,
}

impl Flight {
    /// Waits for the outcome; none where whoever ran gave up.
    pub(crate) async fn outcome(&self) -> Option<Outcome> {
        let mut state = self.0.subscribe();
        let ended = |state: &Progress| !matches!(state, Progress::Running);
        // We hold the sender, so it is not gone.
        match &*state.wait_for(ended).await.ok()? {
            Progress::Landed(outcome) => Some(outcome.clone()),
            _ => None,
        }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the flight under this key, or begins one.
    pub(crate) fn join(&self, key: &Key, fingerprint: [u8; 32]) -> Joined {
        let mut state = self.lock();
        if let Some(entry) = state.by_key.get(key) {
            let stands = entry.until.is_none_or(|until| Instant::now() < until);
            if stands && entry.fingerprint != fingerprint {
                return Joined::Other;
            }
            if stands {
                return match &*entry.flight.0.borrow() {
                    Progress::Landed(outcome) => Joined::Ended(outcome.clone()),
                    _ => Joined::Follow(entry.flight.clone()),
                };
            }
        }
        let flight = Flight(Arc::new(watch::Sender::new(Progress::Running)));
        let entry = Entry { fingerprint, flight: flight.clone(), until: None };
        state.by_key.insert(key.clone(), entry);
        Joined::Lead(flight)
    }

    /// Tells those who wait, and keeps the outcome for as long as `keep` says.
    pub(crate) fn land(
        &self,
        key: &Key,
        flight: &Flight,
        outcome: Outcome,
        keep: Option<Duration>,
    ) {
        let size = size(&outcome);
        let mut state = self.lock();
        match keep.and_then(|keep| Instant::now().checked_add(keep)) {
            Some(until) if size <= MOST_BYTES => state.keep(key, flight, size, until),
            _ => state.forget(key, flight),
        }
        drop(state);
        flight.0.send_replace(Progress::Landed(outcome));
    }

    /// Lets those who wait know that nothing will come.
    pub(crate) fn abandon(&self, key: &Key, flight: &Flight) {
        self.lock().forget(key, flight);
        flight.0.send_replace(Progress::Abandoned);
    }
}

impl State {
    fn keep(&mut self, key: &Key, flight: &Flight, size: usize, until: Instant) {
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

    /// Whether the outcome that was kept first no longer stands.
    fn is_oldest_over(&self) -> bool {
        let Some((key, flight, _)) = self.kept.front() else { return false };
        match self.by_key.get(key).filter(|entry| entry.flight.is(flight)) {
            Some(entry) => entry.until.is_some_and(|until| until <= Instant::now()),
            None => true,
        }
    }

    fn forget(&mut self, key: &Key, flight: &Flight) {
        if self.by_key.get(key).is_some_and(|entry| entry.flight.is(flight)) {
            self.by_key.remove(key);
        }
    }
}

/// The same outcome for another call; what caused a failure stays with the first.
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

/// Returns how many bytes the outcome takes as compact JSON, whoever reads how much of it.
fn size(outcome: &Result<ToolOutput, ToolError>) -> usize {
    let json = match outcome {
        Ok(ToolOutput::Value(value)) => serde_json::to_string(value),
        Ok(ToolOutput::Content(content)) => serde_json::to_string(content),
        Err(error) => return error.for_model.len(),
    };
    json.map_or(0, |json| json.len())
}
