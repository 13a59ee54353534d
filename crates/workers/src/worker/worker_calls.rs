//! The running calls of a worker, and how they are cancelled.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_toolcall::{CallId, CancellationToken};
use tokio::{sync::Notify, time::Instant};

/// How many cancellations of unknown calls are remembered: a notice may overtake its call.
const REMEMBERED: usize = 1024;

/// Two undelivered replies within this time count as one: the gateway may just be reconnecting.
const ABSENCE: Duration = Duration::from_secs(4);

/// The running calls.
#[derive(Default)]
pub(super) struct WorkerCalls {
    calls: Mutex<RunningCallsState>,
    /// Notified when none is left.
    idle: Notify,
}

#[derive(Default)]
struct RunningCallsState {
    running: HashMap<CallId, CallEntry>,
    cancelled_early: VecDeque<CallId>,
}

struct CallEntry {
    /// Its reply subject.
    reply: String,
    since: Instant,
    cancel: CancellationToken,
    go: CancellationToken,
    struck: Option<Instant>,
}

impl WorkerCalls {
    /// Adds a call; its token may have fired already.
    pub(super) fn begin(self: &Arc<Self>, call: CallId, reply: &str) -> WorkerCall {
        let cancel = CancellationToken::new();
        let mut calls = self.lock();
        if let Some(place) = calls.cancelled_early.iter().position(|early| *early == call) {
            calls.cancelled_early.remove(place);
            cancel.cancel();
        }
        let go = CancellationToken::new();
        let (reply, since) = (reply.to_owned(), Instant::now());
        let running =
            CallEntry { reply, since, cancel: cancel.clone(), go: go.clone(), struck: None };
        calls.running.insert(call, running);
        drop(calls);
        WorkerCall { running: self.clone(), call, cancel, go }
    }

    /// Cancels the call, if it runs here.
    pub(super) fn cancel(&self, call: CallId) {
        let mut calls = self.lock();
        match calls.running.get(&call) {
            Some(call) => call.cancel.cancel(),
            None => {
                if calls.cancelled_early.len() == REMEMBERED {
                    calls.cancelled_early.pop_front();
                }
                calls.cancelled_early.push_back(call);
            }
        }
    }

    /// Lets an accepted call start.
    pub(super) fn go(&self, call: CallId) {
        if let Some(call) = self.lock().running.get(&call) {
            call.go.cancel();
        }
    }

    /// Counts an undelivered reply; the second one in a row cancels the call.
    pub(super) fn strike(&self, call: CallId) {
        let mut calls = self.lock();
        let Some(call) = calls.running.get_mut(&call) else { return };
        match call.struck.replace(Instant::now()) {
            Some(before) if before.elapsed() < ABSENCE => call.cancel.cancel(),
            _ => {}
        }
    }

    /// Returns the calls that have run for so long, with their reply subjects.
    pub(super) fn older_than(&self, age: Duration) -> Vec<(CallId, String)> {
        let calls = self.lock();
        let old = calls.running.iter().filter(|(_, call)| call.since.elapsed() >= age);
        old.map(|(id, call)| (*id, call.reply.clone())).collect()
    }

    /// Cancels all calls.
    pub(super) fn cancel_all(&self) {
        for call in self.lock().running.values() {
            call.cancel.cancel();
        }
    }

    /// Waits until none runs.
    pub(super) async fn idle(&self) {
        loop {
            let rung = self.idle.notified();
            if self.lock().running.is_empty() {
                return;
            }
            rung.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunningCallsState> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call; it ends when this is dropped.
pub(super) struct WorkerCall {
    running: Arc<WorkerCalls>,
    call: CallId,
    pub(super) cancel: CancellationToken,
    /// Fires when it may start.
    pub(super) go: CancellationToken,
}

impl Drop for WorkerCall {
    fn drop(&mut self) {
        let mut calls = self.running.lock();
        calls.running.remove(&self.call);
        if calls.running.is_empty() {
            self.running.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(running: &Arc<WorkerCalls>, call: CallId) -> WorkerCall {
        running.begin(call, "answers")
    }

    #[test]
    fn a_notice_may_overtake_its_call_and_hits_no_other() {
        let running = Arc::<WorkerCalls>::default();
        let (early, other) = (CallId::generate(), CallId::generate());
        running.cancel(early);
        let (early, other) = (begin(&running, early), begin(&running, other));
        assert!(early.cancel.is_cancelled());
        assert!(!other.cancel.is_cancelled());
        running.cancel(other.call);
        assert!(other.cancel.is_cancelled());
    }

    #[test]
    fn only_so_many_notices_are_remembered() {
        let running = Arc::<WorkerCalls>::default();
        let forgotten = CallId::generate();
        running.cancel(forgotten);
        for _ in 0..REMEMBERED {
            running.cancel(CallId::generate());
        }
        assert!(!begin(&running, forgotten).cancel.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn only_calls_that_take_long_are_told_as_alive() {
        let running = Arc::<WorkerCalls>::default();
        let long = begin(&running, CallId::generate());
        tokio::time::advance(ABSENCE).await;
        let short = begin(&running, CallId::generate());
        let old: Vec<_> = running.older_than(ABSENCE).into_iter().map(|(call, _)| call).collect();
        assert_eq!(old, [long.call]);
        drop(short);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_heard_twice_in_a_row_is_cancelled() {
        let running = Arc::<WorkerCalls>::default();
        let call = begin(&running, CallId::generate());
        running.strike(call.call);
        tokio::time::advance(ABSENCE * 2).await;
        running.strike(call.call);
        assert!(!call.cancel.is_cancelled());
        tokio::time::advance(ABSENCE / 4).await;
        running.strike(call.call);
        assert!(call.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn idle_is_when_the_last_has_ended() {
        let running = Arc::<WorkerCalls>::default();
        running.idle().await;
        let (one, two) = (begin(&running, CallId::generate()), begin(&running, CallId::generate()));
        running.cancel_all();
        assert!(one.cancel.is_cancelled() && two.cancel.is_cancelled());
        let waits = tokio::spawn({
            let running = running.clone();
            async move { running.idle().await }
        });
        drop(one);
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(two);
        waits.await.unwrap();
    }
}
